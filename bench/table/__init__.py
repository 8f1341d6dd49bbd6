"""The table of workloads: frazil beside other frameworks, each in a process of its own."""
