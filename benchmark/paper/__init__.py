"""What only the paper's replication needs: its published numbers, its data, its tables and figures as printed."""
