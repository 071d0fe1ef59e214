import type { ClipboardEvent } from 'react'

/** Puts a selection that holds formulas on the clipboard with their TeX, which is what can be written with again. */
export function copyFormulas(event: ClipboardEvent): void {
  const selection = window.getSelection()
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return
  const text = textWithTex(selection.getRangeAt(0))
  if (text === null) return
  event.clipboardData.setData('text/plain', text)
  event.preventDefault()
}

/** Null where no formula is in it: the browser copies that by itself. */
function textWithTex(range: Range): string | null {
  const part = range.cloneContents()
  const formulas = part.querySelectorAll('math')
  if (formulas.length === 0) return null
  for (const math of formulas) {
    const tex = math.querySelector('annotation')?.textContent ?? ''
    const sign = math.getAttribute('display') === 'block' ? '$$' : '$'
    math.replaceWith(`${sign}${tex}${sign}`)
  }
  for (const block of part.querySelectorAll('p, li, pre, tr, h2, h3, h4, h5, h6')) block.append('\n')
  return part.textContent
}
