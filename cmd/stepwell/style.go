package main

// A style colours text on a terminal that wants it.
type style struct{ on bool }

// style returns the style of stdout: plain when it is no terminal or NO_COLOR is set.
func (a *app) style() style {
	return style{on: a.shown && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

func (s style) dim(text string) string  { return s.paint("2", text) }
func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) red(text string) string  { return s.paint("31", text) }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
