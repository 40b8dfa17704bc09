package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ladder-argocd-read: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	logrus.SetOutput(io.Discard) // errors are part of the result
	requests, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var request Request
		err := requests.Decode(&request)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		r, err := newReader(ctx, request)
		if err != nil {
			return err
		}
		err = results.Encode(r.read(ctx))
		r.close()
		if err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}
