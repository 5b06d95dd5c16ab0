//! Public prices in us-east-1, without any free tier. Each with the date of the page that it was read from.

/// A price.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price {
    pub(super) dollars: f64,
    /// For that many.
    pub(super) per: f64,
    pub(super) unit: &'static str,
    /// When the page said so.
    pub(super) seen: &'static str,
}

impl Price {
    pub(super) fn text(&self) -> String {
        format!("${} {}", self.dollars, self.unit)
    }
}

const MILLION: f64 = 1_000_000.0;

/// On-demand, standard table class; halved on 2024-11-01.
pub(super) const WRITE: Price =
    Price { dollars: 0.625, per: MILLION, unit: "per million", seen: "2025-07-21" };
/// On-demand, standard table class; halved on 2024-11-01.
pub(super) const READ: Price =
    Price { dollars: 0.125, per: MILLION, unit: "per million", seen: "2025-07-21" };
/// Standard table class. The page has no date; the price is older than those above.
pub(super) const STORAGE: Price = Price { dollars: 0.25, per: 1.0, unit: "per GB-month", seen: "2025-07-21" };
/// Of a function on arm64, as the template has them.
pub(super) const GB_SECOND: Price =
    Price { dollars: 0.000_013_333_4, per: 1.0, unit: "per GB-second", seen: "2026-05-11" };
/// Of a function.
pub(super) const REQUEST: Price =
    Price { dollars: 0.20, per: MILLION, unit: "per million", seen: "2026-05-11" };
/// Of the scheduler.
pub(super) const SCHEDULE: Price =
    Price { dollars: 1.0, per: MILLION, unit: "per million", seen: "2026-03-13" };
/// Two cores of arm64 with 8 GB, on demand, Linux.
pub(super) const INSTANCE_HOUR: Price =
    Price { dollars: 0.0816, per: 1.0, unit: "per hour", seen: "2026-06-17" };
