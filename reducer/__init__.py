"""What follows from the events: surface, measure, view, policies, plan. Pure."""
