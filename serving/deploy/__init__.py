"""What a production server is started with: config files and manifests from one typed config."""
