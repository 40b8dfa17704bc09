// Package stream holds the streams and the terminal of one run of the command:
// stdout carries the result, stderr carries progress and logs.
package stream

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Streams are the inputs and outputs of one command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Getenv looks up an environment variable.
	Getenv func(string) string
	// OutTerminal and ErrTerminal say whether a stream is a terminal.
	OutTerminal, ErrTerminal bool
}

// System returns the process's own streams.
func System() *Streams {
	return &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// Width returns the width of the terminal behind stderr, or else behind stdout, in
// columns; 80 where there is none.
func (s *Streams) Width() int {
	for _, w := range []io.Writer{s.Err, s.Out} {
		if f, ok := unguarded(w).(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
	}
	return 80
}

// WriteFormat writes a result in a format, as WriteResult does. What is in the format text
// is for people, and is folded where it goes to a terminal.
func (s *Streams) WriteFormat(format, file string, content []byte) error {
	if format == "text" {
		content = []byte(s.Folded(file, string(content)))
	}
	return s.WriteResult(file, content)
}

// Folded is the text of a result with its lines folded, where it goes to a terminal. The file
// is that of WriteResult.
func (s *Streams) Folded(file, text string) string {
	if !s.OutTerminal || file != "" && file != "-" {
		return text
	}
	return report.Fold(text, s.Width())
}

// Color reports whether output may be coloured: on a terminal that is not dumb,
// or where CLICOLOR_FORCE asks for it, and never with NO_COLOR. Source:
// https://no-color.org, https://bixense.com/clicolors.
func (s *Streams) Color(terminal bool) bool {
	if s.Getenv("NO_COLOR") != "" {
		return false
	}
	if force := s.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return terminal && s.Getenv("TERM") != "dumb"
}

// CheckResult refuses a file that WriteResult could not write, before the work
// for the result is done.
func CheckResult(file string) error {
	if file == "" || file == "-" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a folder", file)
	}
	if isDevice(file) {
		return nil
	}
	folder := filepath.Dir(file)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot write %s: there is no folder %s", file, folder)
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", file, err)
	case !info.IsDir():
		return fmt.Errorf("cannot write %s: %s is no folder", file, folder)
	}
	if err := unix.Access(folder, unix.W_OK); err != nil {
		return fmt.Errorf("cannot write %s: the folder %s: %w", file, folder, err)
	}
	return nil
}

// isDevice reports whether something is there that is neither a file nor a folder,
// such as /dev/null or a pipe.
func isDevice(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// WriteResult writes the result of a command to file, or to stdout when file is
// empty or "-". A file is replaced whole: it is written beside its final name
// and renamed, so that a failure leaves nothing half-written. A link stays, and
// what it names is replaced; a device or pipe is written to. A file gets what stdout
// would get: it is shown as well.
func (s *Streams) WriteResult(file string, content []byte) error {
	if file != "" && file != "-" {
		content = Safe(content)
	}
	return s.write(file, content)
}

func (s *Streams) write(file string, content []byte) error {
	if file == "" || file == "-" {
		_, err := s.Out.Write(content)
		return err
	}
	if err := CheckResult(file); err != nil {
		return err
	}
	if isDevice(file) {
		return writeDevice(file, content)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already after the rename
	if _, err = tmp.Write(content); err == nil {
		err = tmp.Chmod(0o644)
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// writeDevice writes to what cannot be replaced: taking its place would break it for
// everybody.
func writeDevice(file string, content []byte) error {
	device, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	_, err = device.Write(content)
	if closeErr := device.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
