//! Never deployed: fakes per port, fault injection, conformance suites, simulation.
