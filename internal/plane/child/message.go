package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// LastWords begin the line of its log in which a plane says why it ended by itself.
const LastWords = "ladder: "

// Message is what a plane tells its parent, once.
type Message struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Server is the API server's address, https://127.0.0.1:port.
	Server string `json:"server,omitempty"`
	// Ready is the time from the start of the process until the plane was ready.
	Ready time.Duration `json:"ready,omitempty"`
	// Error says why the plane could not start; everything else is empty then.
	Error string `json:"error,omitempty"`
}

// Write sends m as one line.
func (m Message) Write(w io.Writer) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the plane's message: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("tell the parent: %w", err)
	}
	return nil
}

// ErrSilent is a plane that ended without a word.
var ErrSilent = errors.New("the plane ended before it was ready")

// ReadMessage waits for the message of a plane. A Message with Error comes back
// as an error.
func ReadMessage(r io.Reader) (Message, error) {
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return Message{}, ErrSilent
	}
	if err != nil {
		return Message{}, fmt.Errorf("hear from the plane: %w", err)
	}
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return Message{}, fmt.Errorf("understand the plane: %w", err)
	}
	if m.Error != "" {
		return Message{}, errors.New(m.Error)
	}
	return m, nil
}

// Keep is what the parent writes to the standard input of a plane that shall
// outlive it.
const Keep = "keep\n"

// AwaitEnd reads a plane's standard input until the parent is gone or wants the
// plane kept. It is true when the plane must end.
func AwaitEnd(stdin io.Reader) bool {
	heard, err := bufio.NewReader(stdin).ReadString('\n')
	return err != nil || heard != Keep
}
