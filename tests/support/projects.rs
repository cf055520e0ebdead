//! Generated projects.
