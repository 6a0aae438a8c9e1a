"""What runs and where: recipes, the DAG, the runners and the command line."""
