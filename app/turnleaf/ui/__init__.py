"""The widgets. They build, connect and paint; what is true and what is decided lives in the view models."""
