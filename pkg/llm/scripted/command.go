package scripted

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/llm"
)

const help = `I am a scripted demonstration model, not an AI. Start a message with one of these words:

- help: this list
- tools: three tool calls at once
- ask: a question with choices and a deadline; "ask 10" waits ten seconds
- sleep 5: wait five seconds by parking, with nothing running meanwhile
- fetch URL: read a web page
- fail: the first attempt fails and is retried
- broken: a refusal, which is not retried
- long: a long answer to abort; "long 50" has fifty words
- slow-tool 10: a tool that works for ten seconds, to abort or to kill

Anything else is repeated back to you.`

const (
	defaultSleep = 5   // seconds
	defaultSlow  = 10  // seconds
	defaultAsk   = 120 // seconds
	defaultLong  = 400 // words
	maxSeconds   = 86_400
	maxWords     = 20_000
)

// command answers the last of said by its first word, or repeats it all when that is no command.
func command(req llm.Request, said []string) plan {
	fields := strings.Fields(said[len(said)-1])
	if len(fields) == 0 {
		return echo(said)
	}
	argument := ""
	if len(fields) > 1 {
		argument = fields[1]
	}
	switch strings.ToLower(strings.TrimRight(fields[0], ".,:;!?")) {
	case "help":
		return plan{thinking: "The script knows this one.", text: help}
	case "tools":
		return threeCalls(req)
	case "ask":
		return ask(req, argument)
	case "sleep":
		return sleep(req, argument)
	case "fetch":
		return fetch(req, argument)
	case "fail":
		return fail(req)
	case "broken":
		return plan{
			thinking:    "The script was told to refuse.",
			failure:     llm.Failure{Kind: llm.FailureRefusal},
			failureText: "the scripted model refuses to answer, as you asked; a refusal is not retried",
		}
	case "long":
		return long(argument)
	case "slow-tool":
		return slow(req, argument)
	}
	return echo(said)
}

// threeCalls uses the harmless tools that are offered, more than once if need be.
func threeCalls(req llm.Request) plan {
	var calls []call
	for _, c := range []call{
		{name: "clock", arguments: `{}`},
		{name: "echo", arguments: `{"text":"hello"}`},
		{name: "note", arguments: `{"text":"a note of the demonstration"}`},
	} {
		if offered(req, c.name) {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 && offered(req, "fetch") {
		calls = append(calls, call{name: "fetch", arguments: `{"url":"https://example.com/"}`})
	}
	if len(calls) == 0 {
		return plan{text: "I would call three tools now, but none of clock, echo, note and fetch is offered to me."}
	}
	for i := 0; len(calls) < 3; i++ {
		calls = append(calls, calls[i])
	}
	return plan{
		thinking: "Three calls in one response run at the same time.",
		text:     "I call three tools at once.",
		calls:    calls,
	}
}

func ask(req llm.Request, argument string) plan {
	seconds, ok := number(argument, defaultAsk, maxSeconds)
	if !ok {
		return plan{text: fmt.Sprintf("Say ask with a number of seconds from 1 to %d.", maxSeconds)}
	}
	return one(req, "ask", jsontext.Value(`{"title":"Which colour should the demonstration use?","choices":[`+
		`{"id":"red","label":"Red","description":"warm"},{"id":"green","label":"Green","description":"calm"},`+
		`{"id":"blue","label":"Blue"}],"other":"another colour","timeoutSeconds":`+strconv.Itoa(seconds)+`}`),
		"I have a question.")
}

func sleep(req llm.Request, argument string) plan {
	seconds, ok := number(argument, defaultSleep, maxSeconds)
	if !ok {
		return plan{text: fmt.Sprintf("Say sleep with a number of seconds from 1 to %d.", maxSeconds)}
	}
	return one(req, "wait", jsontext.Value(`{"seconds":`+strconv.Itoa(seconds)+`}`),
		fmt.Sprintf("I sleep for %d seconds.", seconds))
}

func slow(req llm.Request, argument string) plan {
	const most = 3_600 // the tool's own limit
	seconds, ok := number(argument, defaultSlow, most)
	if !ok {
		return plan{text: fmt.Sprintf("Say slow-tool with a number of seconds from 1 to %d.", most)}
	}
	return one(req, "slow", jsontext.Value(`{"seconds":`+strconv.Itoa(seconds)+`}`), "I call a slow tool.")
}

func fetch(req llm.Request, url string) plan {
	if url == "" {
		return plan{text: "Say fetch with an address, for example: fetch https://example.com/"}
	}
	quoted, err := jsontext.AppendQuote([]byte(`{"url":`), url)
	if err != nil {
		return plan{text: "That address is not valid text."}
	}
	return one(req, "fetch", append(quoted, '}'), "I read that page.")
}

// fail answers every second attempt of a run, so that the retry of the first succeeds. A failed response is hidden from
// the request, so the attempt number is all that tells the two apart.
func fail(req llm.Request) plan {
	if req.Attempt%2 == 0 {
		return plan{
			thinking: "The attempt before this one failed on purpose.",
			text:     fmt.Sprintf("Attempt %d worked. The one before it failed on purpose and was retried.", req.Attempt),
		}
	}
	return plan{
		text:        "This attempt is about to fail",
		failure:     llm.Failure{Kind: llm.FailureOverloaded, Status: 529},
		failureText: "the scripted model is overloaded, as you asked; the retry will work",
	}
}

func long(argument string) plan {
	count, ok := number(argument, defaultLong, maxWords)
	if !ok {
		return plan{text: fmt.Sprintf("Say long with a number of words from 1 to %d.", maxWords)}
	}
	var b strings.Builder
	for i := range count {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "word-%d", i+1)
	}
	return plan{thinking: "A long answer; abort it whenever you like.", text: b.String()}
}

// one calls a single tool, if it is offered.
func one(req llm.Request, tool string, arguments jsontext.Value, text string) plan {
	if !offered(req, tool) {
		return plan{text: fmt.Sprintf("I would call the tool %q now, but it is not offered to me.", tool)}
	}
	return plan{text: text, calls: []call{{name: tool, arguments: string(arguments)}}}
}

func offered(req llm.Request, tool string) bool {
	for _, t := range req.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

func number(text string, fallback, limit int) (int, bool) {
	if text == "" {
		return fallback, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= limit
}
