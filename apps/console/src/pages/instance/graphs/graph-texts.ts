import type { TFunction } from 'i18next'
import { bytesText } from '../../../ui/bytes.ts'
import type { Format } from '../../../ui/format.ts'
import type { Graph, GraphLine, GraphUnit, Range } from './graph-data.ts'

const MB_PER_GB = 1_024

type Texts = TFunction<'instance'>

/** A figure with its unit: `24 %`, `42.9 GB`, `23.0 MB/s`. */
export function figureText(value: number, unit: GraphUnit): string {
  if (unit === 'percent') return `${Math.round(value)} %`
  return unit === 'megabytes' ? megabytesText(value) : `${bytesText(value)}/s`
}

/** An amount of memory or disk, in the gigabytes that machines are sold in: 1024 megabytes. */
export function megabytesText(mb: number): string {
  return mb < MB_PER_GB ? `${Math.round(mb)} MB` : `${(mb / MB_PER_GB).toFixed(1)} GB`
}

/** What a line is called; empty where its graph says it. */
export function lineName({ of }: GraphLine, t: Texts): string {
  if (of === null) return ''
  return typeof of === 'number' ? t('graphs.gpu', { number: of }) : t(`graphs.direction.${of}`)
}

/** What a column of the table is called: the graph, and the line where it has several. */
export function columnName(graph: Graph, line: GraphLine, t: Texts): string {
  return [t(`graphs.kind.${graph.kind}`), lineName(line, t)].filter(part => part !== '').join(', ')
}

/** When a step began: within an hour its clock says it. */
export function timeText(seconds: number, range: Range, format: Format): string {
  const date = new Date(seconds * 1_000)
  return range === 'live' || range === 'hour' ? format.clock(date) : format.moment(date)
}
