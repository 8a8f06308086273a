package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// writeQuestion shows a parked call: a question with numbered choices, or background work (invariant 45).
func writeQuestion(w io.Writer, st style, p api.ParkedCall) error {
	var b strings.Builder
	until := ""
	if p.Until != 0 {
		until = " until " + timeOfDay(p.Until)
	}
	if p.Selection == nil {
		fmt.Fprintf(&b, "%s\n", st.dim(fmt.Sprintf("… %s waits%s", oneLine(p.Tool, 64), until)))
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s\n", st.bold("? "+oneLine(p.Selection.Title, 500)))
	for i, c := range p.Selection.Choices {
		fmt.Fprintf(&b, "  %d) %s", i+1, oneLine(c.Label, 200))
		if c.Description != "" {
			b.WriteString(st.dim(" - " + oneLine(c.Description, 200)))
		}
		b.WriteByte('\n')
	}
	how := "a number"
	if p.Selection.Multiple {
		how = "numbers with commas"
	}
	if p.Selection.Other != "" {
		how += ", or your own words (" + oneLine(p.Selection.Other, 100) + ")"
	}
	fmt.Fprintf(&b, "  %s\n", st.dim("answer"+until+" with "+how))
	_, err := io.WriteString(w, b.String())
	return err
}

// parseAnswer reads what a person types: numbers or ids of choices with commas, or own words where they are accepted.
func parseAnswer(s message.Selection, text string) (message.SelectionReply, error) {
	text = strings.TrimSpace(text)
	reply := message.SelectionReply{Picked: []string{}}
	for part := range strings.SplitSeq(text, ",") {
		id, ok := choice(s, strings.TrimSpace(part))
		if !ok {
			reply = message.SelectionReply{Picked: []string{}, Other: text}
			break
		}
		reply.Picked = append(reply.Picked, id)
	}
	if reply.Other != "" && s.Other == "" {
		return reply, usage("%q is none of the choices: give a number from 1 to %d", oneLine(text, 100), len(s.Choices))
	}
	return reply, checkReply(s, reply)
}

func checkReply(s message.Selection, r message.SelectionReply) error {
	if err := s.Check(r); err != nil {
		return &usageError{err}
	}
	return nil
}

// choice returns the id of the choice with that id, label or number. An id wins over a number.
func choice(s message.Selection, text string) (string, bool) {
	for _, c := range s.Choices {
		if c.ID == text {
			return c.ID, true
		}
	}
	for _, c := range s.Choices {
		if strings.EqualFold(c.Label, text) {
			return c.ID, true
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(s.Choices) {
		return "", false
	}
	return s.Choices[n-1].ID, true
}

func replyJSON(r message.SelectionReply) (jsontext.Value, error) {
	data, err := json.Marshal(r)
	return data, err
}
