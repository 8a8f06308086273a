package boot

import "fmt"

// An Origin says where a value comes from.
type Origin string

// The origins, the strongest first.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromDefault Origin = "default"
)

// A Setting is one value of a configuration and its origin.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // a secret is shown as "(set)"
	Origin Origin `json:"origin"`
}

// A reader reads settings and remembers them and what is wrong with them.
type reader struct {
	flags    map[string]string
	env      func(string) string
	settings []Setting
	errs     []error
	hide     bool // the next value is a secret
}

// secret hides the next value that is read.
func (r *reader) secret() *reader {
	r.hide = true
	return r
}

func (r *reader) text(name, fallback string) string {
	value, origin := fallback, FromDefault
	if v := r.flags[name]; v != "" {
		value, origin = v, FromFlag
	} else if v := r.env(name); v != "" {
		value, origin = v, FromEnv
	}
	shown := value
	if r.hide && value != "" {
		shown = "(set)"
	}
	r.hide = false
	r.settings = append(r.settings, Setting{Name: name, Value: shown, Origin: origin})
	return value
}

// read parses a value. A flag is named as such in its error, so that nobody looks for it in the environment.
func read[T any](r *reader, name, fallback string, parse func(string) (T, error)) T {
	value, err := parse(r.text(name, fallback))
	if err != nil {
		where := name
		if r.settings[len(r.settings)-1].Origin == FromFlag {
			where = "the flag for " + name
		}
		r.errs = append(r.errs, fmt.Errorf("%s %w", where, err))
	}
	return value
}
