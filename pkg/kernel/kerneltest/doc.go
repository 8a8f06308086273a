// Package kerneltest is what kernel tests are made of: stores to run over, a session with a virtual clock and a scripted turn whose data are
// checked after every test, processes that can be held, failed and killed, and commit graphs drawn as text.
package kerneltest
