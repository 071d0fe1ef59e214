import type { Currency, Language } from '@berth/contract/limits'
import { formatMicro, microFromCents } from '@berth/contract/money'
import type { PageAnswer, PageRequest } from '../port.ts'
import { cardOf, faceOf } from './test-cards.ts'
import { answerPage, type BooksDeps, intentOfPage } from './testcard-books.ts'
import { answerMethod, methodOfPage } from './testcard-methods.ts'

interface Texts {
  title: string
  titleKept: string
  what: string
  ask: string
  /** Nothing is charged: the bank asks for later charges. */
  askKept: string
  card: string
  confirm: string
  confirmKept: string
  refuse: string
  confirmed: string
  kept: string
  settling: string
  failed: string
  notKept: string
  ended: string
  unknown: string
  back: string
}

/** `{{amount}}` and `{{card}}` are what is paid and with what; a card has a brand and its last four digits. The console never shows these texts. */
const TEXTS: Record<Language, Texts> = {
  en: {
    title: 'Confirm the payment',
    titleKept: 'Confirm the card',
    what: 'This is the page of a test bank. It comes from this installation’s test-card platform: no money moves, whatever you choose.',
    ask: 'Pay {{amount}} with {{card}}?',
    askKept: 'Let {{card}} be charged later by this account? Nothing is charged now.',
    card: '{{brand}} ending {{last4}}',
    confirm: 'Confirm {{amount}}',
    confirmKept: 'Confirm the card',
    refuse: 'Refuse',
    confirmed: 'Confirmed. The console shows the payment as soon as it has been booked.',
    kept: 'Confirmed. The console shows the card as soon as it is kept.',
    settling: 'Confirmed. The bank is still settling it; the console shows when the money is there.',
    failed: 'Not paid. Nothing was charged.',
    notKept: 'Not kept. Nothing was charged.',
    ended: 'This payment has ended. There is nothing left to confirm.',
    unknown: 'No payment waits at this address.',
    back: 'Back to the console',
  },
  zh: {
    title: '确认付款',
    titleKept: '确认银行卡',
    what: '这是测试银行的页面，由本安装的测试卡平台提供：无论您如何选择，都不会有真实资金流动。',
    ask: '使用 {{card}} 支付 {{amount}}？',
    askKept: '允许此账户以后从 {{card}} 扣款？现在不会扣款。',
    card: '尾号 {{last4}} 的 {{brand}}',
    confirm: '确认支付 {{amount}}',
    confirmKept: '确认此卡',
    refuse: '拒绝',
    confirmed: '已确认。入账后，控制台会立即显示这笔付款。',
    kept: '已确认。保存后，控制台会立即显示这张卡。',
    settling: '已确认。银行仍在处理，到账后控制台会显示。',
    failed: '未付款，未扣取任何费用。',
    notKept: '未保存，未扣取任何费用。',
    ended: '这笔付款已结束，无需再确认。',
    unknown: '此地址没有等待确认的付款。',
    back: '返回控制台',
  },
  ja: {
    title: '支払いの確認',
    titleKept: 'カードの確認',
    what: 'これはテスト用銀行のページです。この環境のテストカード決済が表示しています。どちらを選んでも実際のお金は動きません。',
    ask: '{{card}} で {{amount}} を支払いますか？',
    askKept: '{{card}} への今後の請求をこのアカウントに許可しますか？今回は請求されません。',
    card: '末尾 {{last4}} の {{brand}}',
    confirm: '{{amount}} の支払いを承認',
    confirmKept: 'カードを承認',
    refuse: '拒否',
    confirmed: '承認しました。記帳され次第、コンソールに表示されます。',
    kept: '承認しました。保存され次第、コンソールに表示されます。',
    settling: '承認しました。銀行で処理中です。入金されるとコンソールに表示されます。',
    failed: '支払われていません。請求は発生していません。',
    notKept: '保存されていません。請求は発生していません。',
    ended: 'この支払いは終了しています。承認するものはありません。',
    unknown: 'このアドレスで承認を待っている支払いはありません。',
    back: 'コンソールに戻る',
  },
  ko: {
    title: '결제 확인',
    titleKept: '카드 확인',
    what: '테스트 은행의 페이지입니다. 이 설치의 테스트 카드 플랫폼이 제공하며, 무엇을 선택해도 실제 돈은 움직이지 않습니다.',
    ask: '{{card}}로 {{amount}}를 결제할까요?',
    askKept: '이 계정에서 나중에 {{card}}로 결제하도록 허용할까요? 지금은 청구되지 않습니다.',
    card: '{{brand}} 카드(끝자리 {{last4}})',
    confirm: '{{amount}} 결제 승인',
    confirmKept: '카드 승인',
    refuse: '거부',
    confirmed: '승인되었습니다. 장부에 기록되는 즉시 콘솔에 표시됩니다.',
    kept: '승인되었습니다. 저장되는 즉시 콘솔에 표시됩니다.',
    settling: '승인되었습니다. 은행에서 처리 중이며, 입금되면 콘솔에 표시됩니다.',
    failed: '결제되지 않았습니다. 청구된 금액이 없습니다.',
    notKept: '저장되지 않았습니다. 청구된 금액이 없습니다.',
    ended: '이 결제는 끝났습니다. 확인할 것이 없습니다.',
    unknown: '이 주소에서 확인을 기다리는 결제가 없습니다.',
    back: '콘솔로 돌아가기',
  },
}

/**
 * Makes the page on which a customer confirms a test card, as a bank would ask: what it is, what it costs, and a way
 * back that claims nothing about the outcome.
 * @param wake Is called after an answer, so that its webhook is sent at once.
 */
export function createConfirmPage(deps: BooksDeps, wake: () => void) {
  return async function page({ method, token, form, language }: PageRequest): Promise<PageAnswer> {
    const texts = TEXTS[language]
    const answer = method === 'POST' ? form.get('answer') === 'confirm' : null
    const payment = await paymentAsked(deps, token, answer)
    const asked = payment ?? (await cardAsked(deps, token, answer))
    if (!asked) return { status: 404, html: htmlOf(language, texts, `<p>${texts.unknown}</p>`) }
    if (answer !== null) wake()
    return {
      status: 200,
      html: htmlOf(
        language,
        { ...texts, title: payment ? texts.title : texts.titleKept },
        asked.asks ? question(texts, asked) : outcome(texts, asked),
      ),
    }
  }
}

/** What a bank asks, or has asked. */
interface Asked {
  asks: boolean
  question: 'ask' | 'askKept'
  confirm: 'confirm' | 'confirmKept'
  outcome: keyof Texts
  card: string
  /** What is paid; empty where nothing is. */
  amount: string
  returnUrl: string | null
}

async function paymentAsked(deps: BooksDeps, token: string, answer: boolean | null): Promise<Asked | null> {
  const found = await intentOfPage(deps, token)
  if (!found) return null
  const intent = answer === null ? found : await answerPage(deps, found.intentId, answer)
  const said = { succeeded: 'confirmed', processing: 'settling', failed: 'failed' } as const
  return {
    ...{ question: 'ask', confirm: 'confirm', card: intent.card, returnUrl: intent.returnUrl },
    asks: intent.status === 'requires_action',
    outcome: said[intent.status as keyof typeof said] ?? 'ended',
    amount: formatMicro(microFromCents(intent.amountCents), intent.currency as Currency),
  }
}

async function cardAsked(deps: BooksDeps, token: string, answer: boolean | null): Promise<Asked | null> {
  const found = await methodOfPage(deps, token)
  if (!found) return null
  const method = answer === null ? found : await answerMethod(deps, found, answer)
  const said = { saved: 'kept', refused: 'notKept', requires_action: 'ended', ended: 'ended' } as const
  return {
    ...{ question: 'askKept', confirm: 'confirmKept', card: method.card, returnUrl: method.returnUrl },
    asks: method.status === 'requires_action',
    outcome: said[method.status],
    amount: '',
  }
}

function question(texts: Texts, asked: Asked): string {
  return `<p class="ask">${filled(texts[asked.question], texts, asked)}</p>
<form method="post">
<button name="answer" value="confirm" class="main">${filled(texts[asked.confirm], texts, asked)}</button>
<button name="answer" value="refuse">${texts.refuse}</button>
</form>`
}

function filled(text: string, texts: Texts, { amount, card }: Asked): string {
  const known = cardOf(card)
  const { brand, last4 } = known ? faceOf(known) : { brand: card, last4: '' }
  return text
    .replaceAll('{{amount}}', amount)
    .replaceAll('{{card}}', texts.card)
    .replaceAll('{{brand}}', brand)
    .replaceAll('{{last4}}', last4)
}

function outcome(texts: Texts, asked: Asked): string {
  const back = asked.returnUrl ? `<p><a href="${escaped(asked.returnUrl)}">${texts.back}</a></p>` : ''
  return `<p role="status" class="ask">${texts[asked.outcome]}</p>${back}`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** Amounts and cards are ours, and the address is escaped: nothing else comes from outside. */
function htmlOf(language: Language, { title, what }: Texts, content: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
:root{--text:#17191a;--dim:#4f5654;--line:#d3d3cc;--ground:#f7f7f5;--card:#fff;--main:#0b6e66;--on:#fff}
@media (prefers-color-scheme:dark){:root{--text:#e8ecec;--dim:#a9b4b4;--line:#313a3c;--ground:#0b0d0e;--card:#121516;--main:#3fd0bd;--on:#04211d}}
body{font:15px/1.5 Inter,system-ui,sans-serif;color:var(--text);background:var(--ground);margin:0;padding:24px 16px}
main{max-width:400px;margin:12vh auto 0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:24px}
h1{font-size:20px;line-height:28px;font-weight:620;margin:0 0 12px}
.note{color:var(--dim);font-size:13px}
.ask{font-weight:600;margin:20px 0}
form{display:flex;flex-wrap:wrap;gap:12px}
button{font:inherit;font-weight:600;min-height:38px;padding:0 16px;border-radius:7px;border:1px solid var(--line);background:none;color:inherit;cursor:pointer}
.main{background:var(--main);border-color:var(--main);color:var(--on)}
a{color:var(--main)}
:focus-visible{outline:2px solid var(--main);outline-offset:2px}
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="note">${what}</p>
${content}
</main>
</body>
</html>
`
}
