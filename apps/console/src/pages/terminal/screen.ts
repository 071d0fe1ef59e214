import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { allowSpanStyles, withStyleNonce } from './page-styles.ts'
import { terminalTheme } from './terminal-theme.ts'

const FONT_PX = 13
/** Lines above the screen; the gateway replays about as many after a reload. */
const SCROLLBACK_LINES = 5_000
/** Of text on any ground that a program chooses. */
const CONTRAST_MIN = 4.5

export interface ScreenOptions {
  /** What screen readers call the place that is typed into. */
  label: string
  tooMuchOutput: string
  screenReader: boolean
  onInput: (bytes: Uint8Array) => void
  onResize: () => void
  /** The documented way out of the terminal by keyboard. */
  onLeave: () => void
}

/** A drawn terminal. */
export interface Screen {
  write: (data: Uint8Array | string, done: () => void) => void
  size: () => { cols: number; rows: number }
  focus: () => void
  setScreenReader: (on: boolean) => void
  dispose: () => void
}

/**
 * Draws a terminal that fills an element and follows its size and the theme.
 * @param element Empty, and of a size.
 * @param options See ScreenOptions.
 */
export function createScreen(element: HTMLElement, options: ScreenOptions): Screen {
  Terminal.strings.promptLabel = options.label
  Terminal.strings.tooMuchOutput = options.tooMuchOutput
  const terminal = new Terminal({
    fontFamily: tokenOf('--font-mono'),
    fontSize: FONT_PX,
    lineHeight: 1.25,
    scrollback: SCROLLBACK_LINES,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    minimumContrastRatio: CONTRAST_MIN,
    screenReaderMode: options.screenReader,
    theme: terminalTheme(tokenOf),
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  allowSpanStyles()
  withStyleNonce(() => terminal.open(element))
  fit.fit()

  const encoder = new TextEncoder()
  terminal.onData(text => options.onInput(encoder.encode(text)))
  // Some mouse reports are bytes that are no text.
  terminal.onBinary(bytes => options.onInput(Uint8Array.from(bytes, byte => byte.charCodeAt(0))))
  terminal.onResize(() => options.onResize())
  terminal.attachCustomKeyEventHandler(event => !isOurs(event, terminal, options.onLeave))
  // Keys that the shell gets are not the console's too, such as Ctrl+K.
  const keepKeys = (event: KeyboardEvent) => event.stopPropagation()
  element.addEventListener('keydown', keepKeys)
  const stopWatching = watch(element, terminal, () => fit.fit())

  return {
    write: (data, done) => terminal.write(data, done),
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
    focus: () => terminal.focus(),
    setScreenReader: on => {
      terminal.options.screenReaderMode = on
    },
    dispose: () => {
      stopWatching()
      element.removeEventListener('keydown', keepKeys)
      terminal.dispose()
    },
  }
}

/** The few keys that the page keeps: all others go to the shell, Ctrl+C and Ctrl+V among them. */
function isOurs(event: KeyboardEvent, terminal: Terminal, leave: () => void): boolean {
  if (!event.ctrlKey || !event.shiftKey || event.altKey || event.metaKey) return false
  if (event.key === 'Enter') {
    if (event.type === 'keydown') leave()
    event.preventDefault()
    return true
  }
  if (event.code === 'KeyC' && terminal.hasSelection()) {
    event.preventDefault()
    // Where the clipboard is closed to the page, the browser's own menu still copies.
    if (event.type === 'keydown')
      navigator.clipboard?.writeText(terminal.getSelection()).catch(() => undefined)
    return true
  }
  return false
}

/** Follows the element's size and the console's theme, which the root element's attribute names. */
function watch(element: HTMLElement, terminal: Terminal, refit: () => void): () => void {
  const sizes = new ResizeObserver(() => refit())
  sizes.observe(element)
  const themes = new MutationObserver(() => {
    terminal.options.theme = terminalTheme(tokenOf)
  })
  themes.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] })
  return () => {
    sizes.disconnect()
    themes.disconnect()
  }
}

function tokenOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}
