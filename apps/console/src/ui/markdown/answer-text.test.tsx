import { act, screen, waitFor } from '@testing-library/react'
import { useEffect, useState } from 'react'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { giveWorkers } from '../../worker-fixture.ts'
import { AnswerText } from './AnswerText.tsx'
import { createAnswerReader } from './answer-reader.ts'
import { READ_MS } from './read-markdown.ts'

const READER = 'ui/markdown/answer-worker.ts'

/** Shows an answer; what it gives changes its text. */
async function show(first: string) {
  const workers = await giveWorkers(READER)
  const reader = createAnswerReader()
  onTestFinished(() => reader.end())
  let grow: (text: string) => void = () => undefined
  await renderInPage(() => {
    const [text, setText] = useState(first)
    useEffect(() => {
      grow = setText
    }, [])
    return (
      <main>
        <AnswerText text={text} reader={reader} />
      </main>
    )
  })
  return {
    workers,
    main: screen.getByRole('main'),
    grow: (text: string) => act(async () => grow(text)),
  }
}

describe('the answer of a model', () => {
  test('is laid out as it grows, by one worker, and what has not changed stays the same element', async () => {
    const { main, grow, workers } = await show('# First\n\nSome **bo')
    await waitFor(() => expect(screen.getByRole('heading', { name: 'First' })).toBeTruthy())
    const heading = screen.getByRole('heading', { name: 'First' })
    await grow('# First\n\nSome **bold** words.\n\n| a | b |\n|---|---|\n| 1 | 2 |')
    await waitFor(() => expect(screen.getByRole('cell', { name: '2' })).toBeTruthy())
    expect(main.querySelector('strong')?.textContent).toBe('bold')
    expect(screen.getByRole('heading', { name: 'First' })).toBe(heading)
    expect(workers.started).toBe(1)
  })

  test('its code says its language, is coloured and is copied as it was written', async () => {
    const { main } = await show('```python\nprint("hi")  # said\n```\n\n```\nplain\n```')
    await waitFor(() => expect(main.querySelector('.hljs-string')?.textContent).toBe('"hi"'))
    expect(main.querySelector('.hljs-comment')?.textContent).toBe('# said')
    expect(screen.getByText('python')).toBeTruthy()
    expect(screen.getByText('Text')).toBeTruthy()
    expect(main.querySelector('pre')?.textContent).toBe('print("hi")  # said\n')
    expect(screen.getAllByRole('button', { name: 'Copy the code' })).toHaveLength(2)
  })

  test.each([
    '<script>window.hurt = 1</script>',
    '<img src=x onerror="window.hurt = 1">',
    '<iframe src="https://evil.example"></iframe>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '![x](https://evil.example/seen.png)',
    '![x](data:image/svg+xml,<svg onload=alert(1)>)',
    '[x](javascript:alert(1))',
    '[x](/logout)',
    '```html\n<script>window.hurt = 1</script>\n```',
    '```"onmouseover=alert(1)\nx\n```',
  ])('it runs nothing, loads nothing and leads nowhere within the console: %s', async text => {
    const { main } = await show(`before\n\n${text}\n\nafter`)
    await waitFor(() => expect(screen.getByText('after')).toBeTruthy())
    await waitFor(() => expect(main.querySelector('p')).toBeTruthy())
    expect(
      main.querySelectorAll('script, iframe, meta, img, form, style, svg:not(.tabler-icon)'),
    ).toHaveLength(0)
    for (const link of main.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^https?:/)
    for (const element of main.querySelectorAll('*'))
      for (const { name } of element.attributes) expect(name).not.toMatch(/^on/)
    expect('hurt' in window).toBe(false)
  })

  test('footnotes of two answers lead each to its own', async () => {
    const { main } = await show('A.[^1]\n\n[^1]: Note.')
    await waitFor(() => expect(main.querySelector('sup a')).toBeTruthy())
    const href = main.querySelector('sup a')?.getAttribute('href') ?? ''
    expect(href).not.toBe('#user-content-fn-1')
    expect(main.querySelector(href)?.textContent).toContain('Note.')
  })

  test('a text that is made to take long is shown as it was written, and the next one is read all the same', async () => {
    const slow = '**a'.repeat(60_000)
    const { main, grow, workers } = await show('ok')
    await waitFor(() => expect(main.querySelector('p')).toBeTruthy())
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await grow(slow)
    await act(async () => void (await vi.advanceTimersByTimeAsync(READ_MS)))
    vi.useRealTimers()
    await waitFor(() => expect(main.querySelector('p')).toBeNull())
    expect(main.textContent).toContain(slow.slice(0, 100))
    await grow('# Next')
    await waitFor(() => expect(screen.getByRole('heading', { name: 'Next' })).toBeTruthy())
    expect(workers).toMatchObject({ started: 2, ended: 1 })
  })

  test('its formulas are MathML with their TeX; sums of money are none, nor is what code holds', async () => {
    const { main } = await show(
      'It costs $5 and $10, and $E = mc^2$.\n\n\\[\n\\frac{a}{b}\n+ c\n\\]\n\n| f |\n|---|\n| $|x|$ |\n\n```sh\necho $a$\n```\n\n    x = $b$',
    )
    await waitFor(() => expect(main.querySelectorAll('math')).toHaveLength(3))
    const [energy, fraction, absolute] = main.querySelectorAll('math')
    expect(energy?.namespaceURI).toBe('http://www.w3.org/1998/Math/MathML')
    expect(energy?.querySelector('annotation')?.textContent).toBe('E = mc^2')
    expect(fraction?.getAttribute('display')).toBe('block')
    expect(fraction?.querySelector('mfrac')?.textContent).toBe('ab')
    expect(absolute?.closest('td')).toBeTruthy()
    expect(main.textContent).toContain('It costs $5 and $10, and ')
    expect([...main.querySelectorAll('pre')].map(pre => pre.textContent)).toEqual(['echo $a$\n', 'x = $b$\n'])
  })

  test('half of a formula stands there as it is written, and becomes one with its end', async () => {
    const { main, grow } = await show('So\n\n$$\n\\frac{1}{')
    await waitFor(() => expect(main.querySelector('code')?.textContent).toContain('\\frac{1}{'))
    expect(main.querySelector('math')).toBeNull()
    await grow('So\n\n$$\n\\frac{1}{2}\n$$')
    await waitFor(() => expect(main.querySelector('mfrac')?.textContent).toBe('12'))
    expect(main.querySelector('code')).toBeNull()
  })

  test.each([
    String.raw`$\href{javascript:alert(1)}{x}$`,
    String.raw`$\url{https://evil.example}$`,
    String.raw`$\includegraphics{https://evil.example/x.png}$`,
    String.raw`$\htmlStyle{background:url(https://evil.example)}{x}$`,
    String.raw`$\htmlData{a=b}{x}$`,
    String.raw`$\def\a{\a\a}\a$`,
    String.raw`$\def\a#1{#1#1#1#1#1#1#1#1}\a{\a{\a{\a{\a{\a{x}}}}}}$`,
    `$${'{'.repeat(400)}x${'}'.repeat(400)}$`,
    String.raw`$\rule{99999em}{99999em}$`,
    String.raw`$\frac{1}{$`,
    '$<img src=x onerror=alert(1)>$',
    '$</math><script>window.hurt=1</script>$',
  ])('a formula that would lead somewhere, load something or never end is harmless: %s', async text => {
    const { main } = await show(`before ${text} and\n\nafter`)
    await waitFor(() => expect(main.querySelectorAll('p')).toHaveLength(2))
    expect(main.textContent).toContain('after')
    expect(main.querySelectorAll('a, img, script, mglyph, [href], [style], [data-a]')).toHaveLength(0)
    expect(main.querySelectorAll('*').length).toBeLessThan(4_000)
    for (const { value } of [...main.querySelectorAll('*')].flatMap(one => [...one.attributes]))
      expect(value).not.toMatch(/99999/)
    expect('hurt' in window).toBe(false)
  })

  test('what is copied of it has the TeX of its formulas', async () => {
    const { main } = await show('Energy $E = mc^2$ here.')
    await waitFor(() => expect(main.querySelector('math')).toBeTruthy())
    window.getSelection()?.selectAllChildren(main)
    const kept = new Map<string, string>()
    const copy = new Event('copy', { bubbles: true, cancelable: true })
    Object.assign(copy, { clipboardData: { setData: (type: string, text: string) => kept.set(type, text) } })
    main.querySelector('math')?.dispatchEvent(copy)
    expect(kept.get('text/plain')).toContain('Energy $E = mc^2$ here.')
    expect(copy.defaultPrevented).toBe(true)
  })
})
