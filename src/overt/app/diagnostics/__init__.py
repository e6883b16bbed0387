"""Failures one can diagnose: crash files, reports, `overt doctor`."""
