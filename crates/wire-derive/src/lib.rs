//! The derive macro of klamm-wire.
