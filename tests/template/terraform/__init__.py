"""Plans and states of Terraform."""
