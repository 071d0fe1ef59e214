import { cleanup, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { giveWorkers } from '../../worker-fixture.ts'
import { Markdown } from './Markdown.tsx'
import { READ_MS } from './read-markdown.ts'

const READER = 'ui/markdown/markdown-worker.ts'
const STORAGE = 'https://images.north.example/berth'
const TAKES_A_MINUTE = '**a'.repeat(60_000)

async function show(text: string, picturesFrom: string | null = null): Promise<HTMLElement> {
  await giveWorkers(READER)
  await renderInPage(() => <Markdown text={text} picturesFrom={picturesFrom} />)
  await waitFor(() => expect(screen.queryByText('Loading')).toBeNull())
  return document.body.querySelector('article') ?? document.body
}

describe('Markdown of a stranger', () => {
  test('is laid out: headings under the page’s own, lists, tables, code, tasks, footnotes', async () => {
    const text = [
      '# What it is\n\nA **node** editor with `code`.[^1]\n',
      '## Start\n\n```sh\nln -s /data/models\n```\n',
      '| Where | What |\n|---|--:|\n| 8188 | The editor |\n',
      '- [x] made\n- [ ] tried\n\n1. one\n\n> said\n\n[^1]: A note.',
    ].join('\n')
    const article = await show(text)
    expect(screen.getByRole('heading', { level: 2, name: 'What it is' })).toBeTruthy()
    expect(screen.getByRole('heading', { level: 3, name: 'Start' })).toBeTruthy()
    expect(article.querySelector('h1')).toBeNull()
    expect(screen.getByRole('cell', { name: 'The editor' })).toBeTruthy()
    expect((screen.getByLabelText('Done') as HTMLInputElement).checked).toBe(true)
    expect((screen.getByLabelText('Not done') as HTMLInputElement).checked).toBe(false)
    const note = article.querySelector('sup a')?.getAttribute('href') ?? ''
    expect(article.querySelector(note)?.textContent).toContain('A note.')
  })

  test('its code is copied as it was written', async () => {
    await show('```sh\npython main.py --port 8188\necho two\n```')
    const user = userEvent.setup()
    await user.click(screen.getByRole('button', { name: 'Copy the code' }))
    expect(await navigator.clipboard.readText()).toBe('python main.py --port 8188\necho two\n')
  })

  test.each([
    '<script>window.hurt = 1</script>',
    '<img src=x onerror="window.hurt = 1">',
    '<svg onload="window.hurt = 1"><a xlink:href="javascript:window.hurt=1">x</a></svg>',
    '<iframe src="https://evil.example"></iframe>',
    '<a href="https://evil.example" onclick="window.hurt = 1">x</a>',
    '<style>body { display: none }</style><form action="https://evil.example"><input name="p"></form>',
    '<details open ontoggle="window.hurt = 1">x</details>',
    '[x]: <javascript:alert(1)> "t"\n\n[x]',
  ])('HTML and what it could do is not there: %s', async text => {
    const article = await show(`before\n\n${text}\n\nafter`)
    expect(article.querySelectorAll('script, iframe, style, form, svg, object, details, img')).toHaveLength(0)
    for (const element of article.querySelectorAll('*'))
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on/)
        expect(value).not.toMatch(/^\s*(javascript|data|vbscript):/i)
      }
    expect('hurt' in window).toBe(false)
    expect(article.textContent).toContain('after')
  })

  test.each([
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt:alert(1))',
    '[a](java\nscript:alert(1))',
    '[a](&#106;avascript:alert(1))',
    '[a](data:text/html,<script>1</script>)',
    '[a](vbscript:x)',
    '[a](file:///etc/passwd)',
    '[a](blob:https://berth.example/1)',
    '[a](/logout)',
    `[a](${location.origin}/logout)`,
    `[a](${location.origin.toUpperCase()}/settings?section=delete)`,
    '[a](//evil.example)',
    '[a](settings?section=delete)',
    '[a](#main)',
  ])('a link that must lead nowhere is a text: %s', async text => {
    const article = await show(text)
    expect(article.querySelectorAll('a')).toHaveLength(0)
    expect(article.textContent).toContain('a')
  })

  test('a link leads out of the console, in a tab of its own, and carries nothing of ours', async () => {
    await show('[docs](https://example.org/a?b=1) and https://plain.example and <mail@example.org>')
    const links = screen.getAllByRole('link')
    expect(links.map(link => link.getAttribute('href'))).toEqual([
      'https://example.org/a?b=1',
      'https://plain.example/',
      'mailto:mail@example.org',
    ])
    for (const link of links) {
      expect(link.getAttribute('rel')).toBe('noopener noreferrer nofollow ugc')
      expect(link.getAttribute('target')).toBe('_blank')
    }
  })

  test('[R1.10] a picture is shown from the brand’s storage alone; any other is named', async () => {
    const text = [
      `![ours](${STORAGE}/a.png)`,
      '![theirs](https://tracker.example/a.png)',
      '![inline](data:image/png;base64,AAAA)',
      '![near](https://images.north.example.evil.example/a.png)',
    ].join('\n\n')
    await show(text, STORAGE)
    const shown = [...document.body.querySelectorAll('img')]
    expect(shown.map(({ src }) => src)).toEqual([`${STORAGE}/a.png`])
    expect(shown[0]?.getAttribute('referrerpolicy')).toBe('no-referrer')
    for (const alt of ['theirs', 'inline', 'near']) expect(screen.getByText(`Picture: ${alt}`)).toBeTruthy()
    cleanup()
    await show(text)
    expect(document.body.querySelectorAll('img')).toHaveLength(0)
  })

  test('200 KB of honest text are laid out', async () => {
    const article = await show('A **word** with `code` and more of it.\n\n'.repeat(5_000))
    expect(article.querySelectorAll('p')).toHaveLength(5_000)
  })

  const asWritten = [
    ['quotes a thousand deep', `${'>'.repeat(1_000)} x`],
    ['quotes deeper than any stack', `${'>'.repeat(8_000)} x`],
    ['a table of more cells than a page draws', `|a|b|\n|-|-|\n${'|1|2|\n'.repeat(15_000)}`],
  ] as const
  test.each(asWritten)('%s: it is shown as it was written, and the page goes on', async (_, text) => {
    await show(text)
    expect(await screen.findByText(/stands here as it was written/)).toBeTruthy()
    expect(document.body.querySelector('pre')?.textContent).toBe(text)
  })

  test('emphasis that takes a minute to read is read no longer than honest texts take, and shown as it was written', async () => {
    // That while is over at once: until then a thread would be busy.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    onTestFinished(() => void vi.useRealTimers())
    const workers = await giveWorkers(READER)
    await renderInPage(() => <Markdown text={TAKES_A_MINUTE} picturesFrom={null} />)
    expect(workers).toEqual({ started: 1, ended: 0 })
    vi.advanceTimersByTime(READ_MS)
    expect(await screen.findByText(/stands here as it was written/)).toBeTruthy()
    expect(document.body.querySelector('pre')?.textContent).toBe(TAKES_A_MINUTE)
    await waitFor(() => expect(workers.ended).toBe(1))
  })

  test('a text that is left before it is read stops being read', async () => {
    const workers = await giveWorkers(READER)
    await renderInPage(() => <Markdown text={TAKES_A_MINUTE} picturesFrom={null} />)
    expect(workers).toEqual({ started: 1, ended: 0 })
    cleanup()
    await waitFor(() => expect(workers.ended).toBe(1))
  })
})
