package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/report"
)

// terminal draws an inline block: finished steps go to the scrollback, the
// block below shows what runs and why the rest waits.
type terminal struct {
	program *tea.Program
	done    chan struct{}
	once    sync.Once
}

func newTerminal(streams *stream.Streams) *terminal {
	t := &terminal{done: make(chan struct{})}
	m := &model{style: report.Style{Color: streams.Color(true)}, width: streams.Width(), printed: map[string]bool{}}
	// The signal handler of the command saves the state of the run; the terminal
	// program must not take the signal away, nor read the keyboard.
	t.program = tea.NewProgram(m, tea.WithOutput(streams.Err), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() {
		defer close(t.done)
		// A terminal that cannot be drawn on must not stop the run.
		_, _ = t.program.Run()
	}()
	return t
}

type (
	stageMsg   string
	countedMsg struct {
		done, total int
		what        string
	}
	boardMsg report.Board
	closeMsg struct{}
)

func (t *terminal) Stage(text string) { t.program.Send(stageMsg(text)) }
func (t *terminal) Counted(done, total int, what string) {
	t.program.Send(countedMsg{done, total, what})
}
func (t *terminal) Change(report.Change)     {}
func (t *terminal) Board(board report.Board) { t.program.Send(boardMsg(board)) }

// Redraw is the least time between two boards: more is not seen, and a board of
// thousands of components costs.
func (t *terminal) Redraw() time.Duration { return 250 * time.Millisecond }
func (t *terminal) Close() {
	t.once.Do(func() {
		t.program.Send(closeMsg{})
		<-t.done
	})
}

// model is the bubbletea model behind terminal.
type model struct {
	style   report.Style
	width   int
	stage   string
	counted countedMsg
	board   *report.Board
	printed map[string]bool // steps that are in the scrollback
	closed  bool
}

func (m *model) Init() tea.Cmd { return nil }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 {
			m.width = msg.Width
		}
	case stageMsg:
		m.stage, m.counted = string(msg), countedMsg{}
	case countedMsg:
		m.counted = msg
	case boardMsg:
		board := report.Board(msg)
		m.board = &board
		return m, m.scroll()
	case closeMsg:
		m.closed = true
		return m, tea.Quit
	}
	return m, nil
}

// scroll prints the steps that have finished since the last board above the
// block.
func (m *model) scroll() tea.Cmd {
	var finished []string
	for _, step := range m.board.Steps {
		if step.Finished() && step.Failed == 0 && !m.printed[step.Label] {
			m.printed[step.Label] = true
			finished = append(finished, m.style.StepLine(step))
		}
	}
	if len(finished) == 0 {
		return nil
	}
	return tea.Println(strings.Join(finished, "\n"))
}

func (m *model) View() tea.View {
	switch {
	case m.closed:
		return tea.NewView("")
	case m.board != nil:
		return tea.NewView(strings.Join(m.style.Live(*m.board, m.width), "\n"))
	case m.counted.total > 0:
		const cells = 24
		filled := cells * m.counted.done / m.counted.total
		bar := strings.Repeat("█", filled) + strings.Repeat("░", cells-filled)
		return tea.NewView(fmt.Sprintf("%s %s %d/%d", m.counted.what, bar, m.counted.done, m.counted.total))
	default:
		return tea.NewView(m.stage)
	}
}
