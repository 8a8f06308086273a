// Package crashtest proves with real processes that a crash loses nothing. Its tests start the test binary again as a child that plays a
// scene with the real host over one SQLite file and kills itself with SIGKILL at a numbered store call, before or after the call took
// effect. Another process then opens the file at once and carries on, and the tests judge what came of it.
package crashtest
