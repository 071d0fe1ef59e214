import { expect, test } from 'vitest'
import { findRows, type PaletteRow } from './palette-rows.ts'

const rows: PaletteRow[] = [
  row('pages', 'Instances'),
  row('pages', 'Payments'),
  row('instances', 'llama-finetune', { hint: 'i-7h2k · Running' }),
  row('instances', 'Stop', { hint: 'llama-finetune', onlyAsked: true }),
  row('commands', 'Top up', { words: 'Payments balance' }),
  row('commands', 'Dark theme'),
]

test('before anything is typed all rows stand there but those of single instances', () => {
  expect(labels('')).toEqual(['Instances', 'Payments', 'llama-finetune', 'Top up', 'Dark theme'])
})

test.each([
  ['pay', ['Payments', 'Top up']],
  ['top', ['Top up', 'Stop']],
  ['I-7H2K', ['llama-finetune']],
  ['stop llama', ['Stop']],
  ['llama stop', ['Stop']],
  ['ｌｌａｍａ', ['llama-finetune', 'Stop']],
  ['finetune', ['llama-finetune', 'Stop']],
  ['theme dark', ['Dark theme']],
  ['stop theme', []],
])('%j finds %j, what begins so first', (text, found) => {
  expect(labels(text)).toEqual(found)
})

test('a long list is cut; more is found by typing more', () => {
  const many = Array.from({ length: 30 }, (_, index) => row('instances', `worker-${index}`))
  expect(findRows(many, 'worker')[0]?.rows).toHaveLength(8)
  expect(findRows(many, 'worker-29')[0]?.rows.map(({ label }) => label)).toEqual(['worker-29'])
})

function labels(text: string): string[] {
  return findRows(rows, text).flatMap(group => group.rows.map(({ label }) => label))
}

function row(group: PaletteRow['group'], label: string, more: Partial<PaletteRow> = {}): PaletteRow {
  const icon = (() => null) as never
  return { id: label, group, label, icon, run: () => {}, ...more }
}
