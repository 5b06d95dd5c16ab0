//! Scheduled: the notification lane.
