import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { drawnValues, type Gap, type GraphLine } from './graph-data.ts'
import classes from './Plot.module.css'

/** One crosshair over all graphs of the page, so that a dip can be read across them. */
const SYNC_KEY = 'instance'
const HEIGHT_PX = 84
const LINE_PX = 1.5
/** Where nothing bounds a figure, the graph leaves so much room over its highest. */
const HEADROOM = 1.15

interface PlotProps {
  /** The beginning of each step, in seconds since 1970. */
  times: readonly number[]
  lines: readonly GraphLine[]
  gaps: readonly Gap[]
  /** The top of the graph; null: a little over the highest figure. */
  whole: number | null
  /** Told the step that the pointer is over, and null when it leaves. */
  onStep: (step: number | null) => void
}

/** Lines over time on a canvas, in the theme's colours. What it shows stands in words beside it, and in the table. */
export function Plot(props: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef(props)
  latest.current = props
  const { times, lines } = props
  const count = lines.length

  useEffect(() => {
    const element = box.current
    if (!element) return
    const made = new uPlot(optionsOf(element.clientWidth, count, latest), dataOf(latest.current), element)
    plot.current = made
    const size = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    size.observe(element)
    // Colours are read when it is drawn, so another theme asks for another drawing.
    const theme = new MutationObserver(() => made.redraw(false))
    theme.observe(document.documentElement, { attributes: true })
    return () => {
      theme.disconnect()
      size.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [count])

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn changes with these.
  useEffect(() => plot.current?.setData(dataOf(latest.current)), [times, lines])

  return <div ref={box} className={classes.plot} aria-hidden="true" />
}

function dataOf({ times, lines }: PlotProps): uPlot.AlignedData {
  return [[...times], ...lines.map(drawnValues)]
}

function optionsOf(width: number, count: number, latest: { current: PlotProps }): uPlot.Options {
  return {
    width,
    height: HEIGHT_PX,
    padding: [4, 0, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: SYNC_KEY }, drag: { x: false, y: false }, y: false },
    scales: {
      x: { range: (_, min, max) => [min, max] },
      y: { range: (_, __, max) => [0, topOf(latest.current.whole, max)] },
    },
    axes: [
      { show: false },
      {
        size: 0,
        ticks: { show: false },
        values: () => [],
        grid: { stroke: () => colour('--line'), width: 1, dash: [2, 3] },
      },
    ],
    series: [
      {},
      ...Array.from(
        { length: count },
        (_, index): uPlot.Series => ({
          width: LINE_PX,
          points: { show: false },
          stroke: () => lineColour(index),
          ...(count === 1 && { fill: () => colour('--accent-wash') }),
        }),
      ),
    ],
    hooks: {
      drawClear: [plot => drawGaps(plot, latest.current)],
      setCursor: [plot => latest.current.onStep(plot.cursor.idx ?? null)],
    },
  }
}

/** Past what there is it may go where nothing limits it. */
function topOf(whole: number | null, max: number | null): number {
  if (whole !== null) return Math.max(whole, max ?? 0)
  return Math.max(1, (max ?? 0) * HEADROOM)
}

/** A gap is drawn as one: a grey stretch from top to bottom. */
function drawGaps(plot: uPlot, { gaps, times }: PlotProps): void {
  const { ctx, bbox } = plot
  const step = (times[1] ?? 0) - (times[0] ?? 0)
  ctx.save()
  ctx.fillStyle = colour('--line')
  for (const { first, last } of gaps) {
    const from = plot.valToPos(times[first] ?? 0, 'x', true)
    const until = plot.valToPos((times[last] ?? 0) + step, 'x', true)
    ctx.fillRect(from, bbox.top, Math.min(until, bbox.left + bbox.width) - from, bbox.height)
  }
  ctx.restore()
}

/** The first line has the accent; those beside it are ever fainter. */
function lineColour(index: number): string {
  return index === 0 ? colour('--accent') : colour(index % 2 === 1 ? '--info' : '--warning')
}

function colour(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(token).trim()
}
