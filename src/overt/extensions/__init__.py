"""What a project and its user add: rules, instructions, notes and facts."""
