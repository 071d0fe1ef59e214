/**
 * Private modes that a terminal must be told again when the bytes that set them are no longer kept: cursor keys,
 * origin, wrap, cursor, alternate screens, mouse, focus and bracketed paste.
 */
const REMEMBERED_MODES: ReadonlySet<number> = new Set([
  1, 6, 7, 9, 25, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004,
])
/** Modes that are on in a fresh terminal, so that "off" is what must be remembered. */
const ON_AT_FIRST: ReadonlySet<number> = new Set([7, 25])
const ALTERNATE_SCREENS = [47, 1047, 1049]

/** Parameters of one sequence that are looked at; more than this is nobody's mode switch. */
const PARAMETERS_MAX = 16
const PARAMETER_MAX = 65_535

const BEL = 0x07
const CAN = 0x18
const SUB = 0x1a
const ESC = 0x1b

type State = 'ground' | 'escape' | 'escape_intermediate' | 'csi' | 'osc' | 'string'

/**
 * Follows a terminal's output just far enough to know where it may be cut (between two escape sequences) and
 * which modes are on there. Plain text costs one native search for the next ESC.
 */
export class EscapeTracker {
  private state: State = 'ground'
  private isPrivate = false
  private parameters: number[] = []
  private parameter = 0
  private readonly modes = new Map<number, boolean>()
  private prefix: string | null = ''

  /** Whether a full-screen program has the screen. */
  get alternateScreen(): boolean {
    return ALTERNATE_SCREENS.some(mode => this.modes.get(mode) === true)
  }

  /** What brings a fresh terminal into the modes that are on now. */
  get modePrefix(): string {
    this.prefix ??= [...this.modes].map(([mode, on]) => `\x1b[?${mode}${on ? 'h' : 'l'}`).join('')
    return this.prefix
  }

  /**
   * Takes the next bytes of output.
   * @param chunk Bytes in the order in which the shell wrote them.
   * @param onText Called for each stretch `[from, to)` outside of any escape sequence, while the tracker is
   *   exactly there.
   */
  feed(chunk: Uint8Array, onText: (from: number, to: number) => void): void {
    let at = 0
    while (at < chunk.length) {
      if (this.state === 'ground') {
        const found = chunk.indexOf(ESC, at)
        const end = found < 0 ? chunk.length : found
        if (end > at) onText(at, end)
        if (found >= 0) this.state = 'escape'
        at = end + 1
      } else {
        this.take(chunk[at] ?? 0)
        at++
      }
    }
  }

  /** One byte inside of a sequence. */
  private take(byte: number): void {
    if (byte === ESC) {
      this.state = 'escape'
    } else if (byte === CAN || byte === SUB) {
      this.state = 'ground'
    } else if (this.state === 'csi') {
      this.takeCsi(byte)
    } else if (this.state === 'escape') {
      this.takeEscape(byte)
    } else if (this.state === 'escape_intermediate') {
      if (byte >= 0x30) this.state = 'ground'
    } else if (this.state === 'osc' && byte === BEL) {
      this.state = 'ground'
    }
  }

  private takeEscape(byte: number): void {
    if (byte === 0x5b) {
      this.state = 'csi'
      this.isPrivate = false
      this.parameters = []
      this.parameter = 0
    } else if (byte === 0x5d) {
      this.state = 'osc'
    } else if (byte === 0x50 || byte === 0x58 || byte === 0x5e || byte === 0x5f) {
      this.state = 'string'
    } else if (byte >= 0x20 && byte <= 0x2f) {
      this.state = 'escape_intermediate'
    } else if (byte >= 0x30) {
      if (byte === 0x63) this.forgetModes()
      this.state = 'ground'
    }
  }

  private takeCsi(byte: number): void {
    if (byte >= 0x30 && byte <= 0x39) {
      this.parameter = Math.min(PARAMETER_MAX, this.parameter * 10 + byte - 0x30)
    } else if (byte === 0x3b) {
      this.endParameter()
    } else if (byte === 0x3f) {
      this.isPrivate = true
    } else if (byte >= 0x40) {
      this.state = 'ground'
      if (this.isPrivate && (byte === 0x68 || byte === 0x6c)) {
        this.endParameter()
        this.setModes(byte === 0x68)
      }
    }
  }

  private endParameter(): void {
    if (this.parameters.length < PARAMETERS_MAX) this.parameters.push(this.parameter)
    this.parameter = 0
  }

  private setModes(on: boolean): void {
    for (const mode of this.parameters) {
      if (!REMEMBERED_MODES.has(mode)) continue
      this.modes.delete(mode)
      if (on !== ON_AT_FIRST.has(mode)) this.modes.set(mode, on)
    }
    this.prefix = null
  }

  private forgetModes(): void {
    this.modes.clear()
    this.prefix = ''
  }
}
