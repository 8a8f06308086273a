package httpapi

// Patterns returns what the mux is told to serve, as "METHOD /path".
func Patterns() []string {
	var patterns []string
	for _, e := range (&Handler{}).table() {
		patterns = append(patterns, e.pattern)
	}
	return patterns
}

// ProblemStatus returns the status of a problem by its code, and whether there is such a problem.
func ProblemStatus(code string) (int, bool) {
	k := kinds(code)
	return k.status, k.status != 500 || code == "internal"
}
