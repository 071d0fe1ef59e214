import type { ServerResponse } from 'node:http'
import { expect, type Page, test } from '@playwright/test'
import { begins, type ModelServerDouble, refuses, says } from '../apps/gateway/test/model-server.ts'
import { lookAt } from './looks.ts'
import { beginModelWalk, type ModelWalk } from './model-walk.ts'
import { holdWidths } from './widths.ts'

/** Chat with hosted models: as a guest begins it, one model and several, with pictures, and how it is left. */
test.describe.configure({ mode: 'serial' })

const CHARA = { email: 'chara@example.org', password: 'Harbour-Light-7', name: 'Chara' }
const LLAMA = 'meta/llama-3.3-70b-instruct'
const MISTRAL = 'mistral/mistral-small-3.2'
const CODE = [
  'Keep a **floor** under the cosine:\n\n',
  '```python\nargs.lr_scheduler_type = "cosine_with_min_lr"  # a floor\n```\n\n',
  '| Step | Rate |\n|---|--:|\n| 4000 | 0.3 |\n\n',
  '<img src=x onerror="document.title=1"><script>document.title=2</script> [home](/logout)\n',
].join('')
/** One pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

let walk: ModelWalk
let server: ModelServerDouble
let page: Page
let complaints: string[]
/** Calls that the test has models refuse are complaints of the browser's all the same. */
const isOfRefusal = (text: string) => /status of (?:400|502)/.test(text)

test.beforeAll(async ({ browser }) => {
  walk = await beginModelWalk(browser, CHARA, isOfRefusal)
  ;({ server, page, complaints } = walk)
})
test.afterAll(() => walk?.end())

const field = () => page.getByLabel('Message', { exact: true })
const answerOf = (name: string) => page.getByRole('article', { name: `Answer of ${name}` }).last()
const dialog = () => page.getByRole('dialog')
const lastAsked = () => server.asked.at(-1)?.body ?? {}
const all = (text: string) => says(text, { prompt_tokens: 64, completion_tokens: 142, total_tokens: 206 })

/** Sends, and waits until that many answers have ended. */
async function ask(text: string, count = 1): Promise<void> {
  const before = server.asked.length
  await field().fill(text)
  await field().press('Enter')
  await expect.poll(() => server.asked.length).toBe(before + count)
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
}

test('[R2.3] a guest sees models and prices, is asked to log in when they send, and comes back with what they typed', async () => {
  await page.goto(`/chat-model?model=${LLAMA}`)
  await expect(page.getByText('$0.23 in, $0.40 out per M tokens')).toBeVisible()
  await lookAt(page, 'chat-guest')
  await holdWidths(page, 'the chat as a guest sees it')
  await field().fill('Why is my loss flat?')
  await field().press('Enter')
  await expect(dialog()).toContainText('What you have typed is still here')
  await dialog().getByRole('button', { name: 'Log in' }).click()
  await page.getByLabel('Email').fill(CHARA.email)
  await page.getByLabel('Password', { exact: true }).fill(CHARA.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect(page).toHaveURL(/\/chat-model\?model=meta/)
  await expect(field()).toHaveValue('Why is my loss flat?')
  expect(server.asked).toEqual([])
})

test('[R7.6] an answer is laid out as it comes, harmless, with what it took and what it cost', async () => {
  server.answer(all(CODE))
  await ask('Why is my loss flat? <b>pasted</b><script>document.title=3</script>')
  const answer = answerOf('Llama 3.3 70B Instruct')
  await expect(answer.locator('.hljs-string')).toHaveText('"cosine_with_min_lr"')
  await expect(answer.getByRole('cell', { name: '4000' })).toBeVisible()
  await expect(answer.getByRole('link')).toHaveCount(0)
  await expect(answer).toContainText('64 in, 142 out')
  // 64 × 0.23 and 142 × 0.40 millionths of a dollar, cut once.
  await expect(answer).toContainText('$0.000071')
  await expect(page.getByText('<b>pasted</b><script>')).toBeVisible()
  await expect(page).toHaveTitle(/^Chat/)
  await answer.getByRole('button', { name: 'Copy the answer' }).click()
  await lookAt(page, 'chat-answer')
  await holdWidths(page, 'a chat')
})

test('[R3.14] parameters and the system prompt go to the model as they were chosen', async () => {
  server.answer(all('Short.'))
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.getByRole('textbox', { name: /^Temperature/ }).fill('0.7')
  await page.getByRole('slider', { name: 'Top-p' }).fill('0.95')
  await page.getByRole('slider', { name: 'Presence penalty' }).fill('-0.5')
  await page.getByRole('slider', { name: 'Frequency penalty' }).fill('0.25')
  await page.getByRole('textbox', { name: /^Repetition penalty/ }).fill('1.05')
  await page.getByRole('textbox', { name: /^Max tokens/ }).fill('512')
  await ask('And now?')
  expect(lastAsked()).toMatchObject({
    temperature: 0.7,
    top_p: 0.95,
    presence_penalty: -0.5,
    frequency_penalty: 0.25,
    repetition_penalty: 1.05,
    max_tokens: 512,
  })
  expect((lastAsked().messages as object[])[0]).toEqual({ role: 'system', content: 'Be brief.' })
  // What was said before is said again.
  expect(lastAsked().messages).toHaveLength(4)
})

test('stopping ends the call at the model at once, and what had come stays', async () => {
  server.answer(begins(['One ', 'two ', 'three'], 'hangs'))
  await field().fill('Count.')
  await field().press('Enter')
  await expect(answerOf('Llama 3.3 70B Instruct')).toContainText('One two three')
  const asked = server.asked.at(-1)
  await expect(page.getByRole('button', { name: 'Send' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Stop' }).click()
  await asked?.left
  await expect(answerOf('Llama 3.3 70B Instruct')).toContainText('One two three')
  await expect(page.getByText('Stopped by you. What had come is charged.')).toBeVisible()
})

test('an answer that breaks off keeps what had come; tried again it takes its place', async () => {
  server.answer(begins(['Half of it'], 'breaks'), all('The whole of it.'))
  await ask('Tell me.')
  const answer = answerOf('Llama 3.3 70B Instruct')
  await expect(answer).toContainText('The answer broke off here')
  await expect(answer).toContainText('Half of it')
  await answer.getByRole('button', { name: 'Try again' }).click()
  await expect(answer).toContainText('The whole of it.')
  await expect(answer).not.toContainText('Half of it')
})

test('[R5.10] two models answer side by side; one that refuses says so in its own place', async () => {
  const long = 'maximum context length is 32768 tokens. However, you requested 33000 tokens'
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('combobox').nth(1).selectOption(MISTRAL)
  await expect(page.getByRole('combobox').nth(1).locator(`option[value="${LLAMA}"]`)).toBeDisabled()
  const tooLong = refuses(400, long)
  const byModel = (response: ServerResponse, asked: Parameters<typeof tooLong>[1]) =>
    (asked.body.model === MISTRAL ? tooLong : all('From Llama.'))(response, asked)
  server.answer(byModel)
  await ask('Which of you?', 2)
  await expect(answerOf('Llama 3.3 70B Instruct')).toContainText('From Llama.')
  await expect(answerOf('Mistral Small 3.2')).toContainText('Not answered, not charged')
  await expect(answerOf('Mistral Small 3.2')).toContainText('The answer exceeds the context length limit')
  await expect(page.getByRole('complementary')).toContainText('2 models, so far')
  await lookAt(page, 'chat-side-by-side')
  await holdWidths(page, 'two models side by side')
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(page.getByRole('combobox')).toHaveCount(1)
  await page.getByRole('button', { name: 'Show the next model' }).click()
  await expect(page.getByRole('combobox')).toHaveValue(MISTRAL)
  await page.getByRole('button', { name: 'Parameters, code and cost' }).click()
  await expect(dialog().getByRole('slider', { name: 'Temperature' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 1_440, height: 900 })
})

test('[R2.18] leaving asks, by the menu and by a new conversation, and by the browser for a reload', async () => {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Instances' }).click()
  await expect(dialog().getByRole('heading', { name: 'Tips' })).toBeVisible()
  await expect(dialog()).toContainText('clears the conversation records of the current model')
  await lookAt(page, 'chat-leave')
  await dialog().getByRole('button', { name: 'Cancel' }).click()
  await expect(page).toHaveURL(/\/chat-model/)
  await expect(page.getByText('From Llama.')).toBeVisible()
  const asks = page.waitForEvent('dialog')
  // The browser asks in its own words, and the script that reloads waits for it.
  void page.evaluate(() => location.reload()).catch(() => undefined)
  const asked = await asks
  expect(asked.type()).toBe('beforeunload')
  await asked.dismiss()
  await expect(page.getByText('From Llama.')).toBeVisible()
  await page.getByRole('button', { name: 'New conversation' }).click()
  await dialog().getByRole('button', { name: 'New conversation' }).click()
  await expect(page.getByText('From Llama.')).toHaveCount(0)
  // With nothing to lose nothing is asked.
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Instances' }).click()
  await expect(page).toHaveURL(/\/instance-list/)
})

test('[R2.18] whoever leaves all the same leaves, and finds no conversation when they come back', async () => {
  server.answer(all('To be forgotten.'))
  await page.goto(`/chat-model?model=${LLAMA}`)
  await ask('Remember this.')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Payments' }).click()
  await dialog().getByRole('button', { name: 'Leave' }).click()
  await expect(page).toHaveURL(/\/payments/)
  await page.goto(`/chat-model?model=${LLAMA}`)
  await expect(page.getByText('What do you want to ask?')).toBeVisible()
  await expect(page.getByText('To be forgotten.')).toHaveCount(0)
})

test('[R2.29] [R5.10] pictures are chosen or pasted, say why they are not sent, and go along on Ctrl+Enter', async () => {
  server.answer(all('One pixel.'))
  await page.goto('/multi-modal')
  await expect(page.getByText('Up to 10 pictures a message, 10.0 MB each')).toBeVisible()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose pictures' }).click()
  await (await chooser).setFiles([
    { name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL },
    { name: 'scan.tiff', mimeType: 'image/tiff', buffer: PIXEL },
    { name: 'words.png', mimeType: 'image/png', buffer: Buffer.from('no picture') },
  ])
  await expect(page.getByText('Not sent: TIFF is not read')).toBeVisible()
  await expect(page.getByText('Not sent: no picture can be read from it')).toBeVisible()
  await expect(page.getByText('1 picture, about')).toBeVisible()
  await field().fill('What is it?')
  await lookAt(page, 'multi-modal')
  await holdWidths(page, 'a message with pictures')
  const before = server.asked.length
  await field().press('Enter')
  expect(server.asked).toHaveLength(before)
  await field().fill('What is it?')
  await expect(page.getByText('Ctrl+Enter')).toBeVisible()
  await field().press('Control+Enter')
  await expect(answerOf('Qwen2.5-VL 72B')).toContainText('One pixel.')
  expect(lastAsked().messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL.toString('base64')}` } },
      ],
    },
  ])
  await lookAt(page, 'multi-modal-answer')
})

test('the browser complains of nothing', () => {
  expect(complaints).toEqual([])
})
