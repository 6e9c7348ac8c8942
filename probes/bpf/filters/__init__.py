"""Compile filters to BPF instructions."""
