/** What a page says about its own load; times in milliseconds since the navigation began. */
export interface PageTimes {
  /** The control stood there, enabled and uncovered. */
  visibleMs: number
  /** A real key press had reached the control, and the frame after it was drawn. */
  usableMs: number
  firstPaintMs: number
  /** Largest paint before the key press: a browser looks for none after it. Where it saw none, the first one. */
  largestPaintMs: number
  /** All tasks of the main thread over 50 ms that began before the page was usable. */
  longTasksMs: number
}

/** Called by the page when it wants a key pressed; the argument is `a` for a text field, else `Shift`. */
export const ASK_FOR_KEY = 'benchAskForKey'
/** Called by the page when it is usable, with `PageTimes` in JSON. */
export const TELL_USABLE = 'benchTellUsable'

/**
 * Runs inside the page, before any script of its own: waits until the control can be used, and proves it. It stands
 * alone, for it is sent to the browser as text.
 * @param options The control's selector, and the names of the two functions of the bench.
 */
export function probeUsable(options: { control: string; askForKey: string; tellUsable: string }): void {
  const call = (name: string, payload: string) =>
    (globalThis as unknown as Record<string, (payload: string) => void>)[name]?.(payload)
  const longTasks: PerformanceEntry[] = []
  new PerformanceObserver(list => longTasks.push(...list.getEntries())).observe({
    type: 'longtask',
    buffered: true,
  })
  let largestPaintMs = 0
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) largestPaintMs = entry.startTime
  }).observe({ type: 'largest-contentful-paint', buffered: true })
  let visibleMs = 0

  const isReady = (element: HTMLElement) => {
    const { x, y, width, height } = element.getBoundingClientRect()
    if (width === 0 || height === 0 || element.matches(':disabled, [aria-disabled=true]')) return false
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false
    const above = document.elementFromPoint(x + width / 2, y + height / 2)
    return above !== null && (element.contains(above) || above.contains(element))
  }
  const tell = (usableMs: number) => {
    // The observers hear of a task only after it, so they are given a moment; it is not part of any time.
    setTimeout(() => {
      const before = longTasks.filter(task => task.startTime < usableMs)
      const firstPaintMs = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0
      const times = {
        visibleMs,
        usableMs,
        firstPaintMs,
        largestPaintMs: largestPaintMs || firstPaintMs,
        longTasksMs: before.reduce((sum, task) => sum + task.duration, 0),
      }
      call(options.tellUsable, JSON.stringify(times))
    }, 200)
  }
  const press = (control: HTMLElement) => {
    const isField = control.matches('input, textarea')
    const event = isField ? 'input' : 'keydown'
    let answered = false
    control.focus()
    const onAnswer = () => {
      answered = true
      removeEventListener(event, onAnswer, true)
      requestAnimationFrame(() => {
        // A message comes after the frame is drawn.
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => {
          const landed = !isField || (control as HTMLInputElement).value.endsWith('a')
          if (control.isConnected && landed) tell(performance.now())
          else look()
        }
        port2.postMessage(null)
      })
    }
    addEventListener(event, onAnswer, true)
    call(options.askForKey, isField ? 'a' : 'Shift')
    // The control may have been drawn anew meanwhile, so that the key went nowhere.
    setTimeout(() => {
      if (answered) return
      removeEventListener(event, onAnswer, true)
      look()
    }, 1_000)
  }
  const look = () => {
    const control = document.querySelector<HTMLElement>(options.control)
    if (!control || !isReady(control)) {
      requestAnimationFrame(look)
      return
    }
    visibleMs ||= performance.now()
    press(control)
  }
  look()
}
