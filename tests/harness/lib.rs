//! Harness, user stories, simulation, conformance, tidy checks, benchmarks.
