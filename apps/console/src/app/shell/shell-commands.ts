/** What the frame itself can do, wherever it is asked for: by a button, by a key, or from the palette. */
export interface ShellCommands {
  /** Opens the menu of narrow screens. */
  openMenu: () => void
  openPalette: () => void
  showShortcuts: () => void
  /** Asks first (R2.14). */
  logOut: () => void
}
