package main

import (
	"context"
	"encoding/json"
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
	var request Request
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	r, err := newReader(ctx, request)
	if err != nil {
		return err
	}
	defer r.close()
	return json.NewEncoder(out).Encode(r.read(ctx))
}
