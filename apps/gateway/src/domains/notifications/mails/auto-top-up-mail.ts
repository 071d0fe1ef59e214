import type { Language } from '@berth/contract/limits'
import type { AutoTopUpFacts } from '../facts.ts'
import type { NoticeFrame, NoticeText, NoticeTexts } from './notice-mail.ts'

interface Values {
  news: AutoTopUpFacts['news']
  /** Of one charge, and at most in a month; with their currency's sign. */
  amount: string
  cap: string
  /** As `cardText` says it; empty where there was no card to charge. */
  paidWith: string
  /** Why it was refused, as a sentence; empty where nothing was refused. */
  reason: string
  at: string
  /** When it goes on; empty where it does not. */
  next: string
}

type Said = Values & Pick<NoticeFrame, 'brand'>

interface Words {
  hello: string
  subject: Record<Values['news'], (said: Said) => string>
  happened: Record<Values['news'], (said: Said) => string>
  /** What comes next, and what to do. */
  follows: Record<Values['news'], (said: Said) => string>
  labels: { amount: string; cap: string; card: string; reason: string; time: string; colon: string }
  here: string
}

const WORDS: Record<Language, Words> = {
  en: {
    hello: 'Hello,',
    subject: {
      declined: ({ brand, amount }) => `${brand}: auto top-up of ${amount} failed`,
      turned_off: ({ brand }) => `${brand}: auto top-up was turned off`,
      capped: ({ brand }) => `${brand}: auto top-up has reached its monthly cap`,
    },
    happened: {
      declined: ({ brand }) =>
        `The balance of your ${brand} account fell below what you set for auto top-up, but it could not be topped up. Nothing was added to your balance.`,
      turned_off: ({ brand }) =>
        `Auto top-up of your ${brand} account failed several times in a row, so it was turned off. Nothing was added to your balance.`,
      capped: ({ brand }) =>
        `The balance of your ${brand} account fell below what you set for auto top-up, but another charge would be more than your monthly cap. No card was charged for it.`,
    },
    follows: {
      declined: ({ next }) =>
        `It is tried again on ${next} if your balance is still below by then. To have it tried sooner, save its settings again with a card that can be charged. You can also top up yourself:`,
      turned_off: () =>
        'It is not tried again before you turn it on. Until then your instances are stopped when the balance is used up. Choose a card that can be charged and turn it on, or top up yourself:',
      capped: ({ next }) =>
        `It goes on by itself on ${next}. Until then your instances are stopped when the balance is used up. Raise the cap, or top up yourself:`,
    },
    labels: {
      amount: 'Amount',
      cap: 'Monthly cap',
      card: 'Card',
      reason: 'Reason',
      time: 'Time',
      colon: ': ',
    },
    here: 'Auto top-up, your cards and all transactions are on that page.',
  },
  zh: {
    hello: '您好！',
    subject: {
      declined: ({ brand, amount }) => `${brand}：自动充值 ${amount} 失败`,
      turned_off: ({ brand }) => `${brand}：自动充值已关闭`,
      capped: ({ brand }) => `${brand}：自动充值已达到每月上限`,
    },
    happened: {
      declined: ({ brand }) => `您的 ${brand} 账户余额已低于自动充值的设定值，但充值未成功，余额没有增加。`,
      turned_off: ({ brand }) => `您的 ${brand} 账户自动充值连续多次失败，因此已关闭，余额没有增加。`,
      capped: ({ brand }) =>
        `您的 ${brand} 账户余额已低于自动充值的设定值，但再次扣款会超过您的每月上限，因此没有从任何卡扣款。`,
    },
    follows: {
      declined: ({ next }) =>
        `如果届时余额仍然不足，将于 ${next} 再次尝试。如需提前尝试，请选择可扣款的卡并重新保存设置。您也可以自行充值：`,
      turned_off: () =>
        '在您重新开启之前不会再次尝试。在此期间，余额用尽后您的实例将被停止。请选择可扣款的卡并重新开启，或自行充值：',
      capped: ({ next }) =>
        `将于 ${next} 自动恢复。在此之前，余额用尽后您的实例将被停止。请提高上限，或自行充值：`,
    },
    labels: { amount: '金额', cap: '每月上限', card: '银行卡', reason: '原因', time: '时间', colon: '：' },
    here: '自动充值、您的银行卡和所有交易都在该页面上。',
  },
  ja: {
    hello: 'こんにちは。',
    subject: {
      declined: ({ brand, amount }) => `${brand}: ${amount} の自動チャージに失敗しました`,
      turned_off: ({ brand }) => `${brand}: 自動チャージがオフになりました`,
      capped: ({ brand }) => `${brand}: 自動チャージが月の上限に達しました`,
    },
    happened: {
      declined: ({ brand }) =>
        `${brand} アカウントの残高が自動チャージの設定額を下回りましたが、チャージできませんでした。残高は増えていません。`,
      turned_off: ({ brand }) =>
        `${brand} アカウントの自動チャージが続けて失敗したため、オフになりました。残高は増えていません。`,
      capped: ({ brand }) =>
        `${brand} アカウントの残高が自動チャージの設定額を下回りましたが、もう一度チャージすると月の上限を超えるため、カードには請求していません。`,
    },
    follows: {
      declined: ({ next }) =>
        `その時点でも残高が下回っていれば、${next} に再試行します。早めるには、利用できるカードを選んで設定を保存し直してください。ご自身でチャージすることもできます。`,
      turned_off: () =>
        'オンに戻すまで再試行しません。その間に残高がなくなると、インスタンスは停止します。利用できるカードを選んでオンに戻すか、ご自身でチャージしてください。',
      capped: ({ next }) =>
        `${next} に自動で再開します。それまでに残高がなくなると、インスタンスは停止します。上限を引き上げるか、ご自身でチャージしてください。`,
    },
    labels: { amount: '金額', cap: '月の上限', card: 'カード', reason: '理由', time: '日時', colon: ': ' },
    here: '自動チャージ、カード、すべての取引はこのページにあります。',
  },
  ko: {
    hello: '안녕하세요.',
    subject: {
      declined: ({ brand, amount }) => `${brand}: ${amount} 자동 충전 실패`,
      turned_off: ({ brand }) => `${brand}: 자동 충전이 꺼졌습니다`,
      capped: ({ brand }) => `${brand}: 자동 충전이 월 한도에 도달했습니다`,
    },
    happened: {
      declined: ({ brand }) =>
        `${brand} 계정의 잔액이 자동 충전 기준보다 낮아졌지만 충전하지 못했습니다. 잔액은 늘어나지 않았습니다.`,
      turned_off: ({ brand }) =>
        `${brand} 계정의 자동 충전이 연이어 실패하여 꺼졌습니다. 잔액은 늘어나지 않았습니다.`,
      capped: ({ brand }) =>
        `${brand} 계정의 잔액이 자동 충전 기준보다 낮아졌지만, 한 번 더 충전하면 월 한도를 넘으므로 카드에 청구하지 않았습니다.`,
    },
    follows: {
      declined: ({ next }) =>
        `그때에도 잔액이 기준보다 낮으면 ${next}에 다시 시도합니다. 더 빨리 시도하려면 결제할 수 있는 카드를 선택해 설정을 다시 저장하세요. 직접 충전할 수도 있습니다.`,
      turned_off: () =>
        '다시 켜기 전에는 시도하지 않습니다. 그동안 잔액이 소진되면 인스턴스가 중지됩니다. 결제할 수 있는 카드를 선택해 다시 켜거나 직접 충전하세요.',
      capped: ({ next }) =>
        `${next}에 자동으로 다시 시작됩니다. 그 전에 잔액이 소진되면 인스턴스가 중지됩니다. 한도를 올리거나 직접 충전하세요.`,
    },
    labels: { amount: '금액', cap: '월 한도', card: '카드', reason: '사유', time: '시각', colon: ': ' },
    here: '자동 충전, 카드, 모든 거래는 이 페이지에 있습니다.',
  },
}

/** Why nothing was charged where no card is kept; the error's own sentence is an order to somebody at a form. */
export const NO_METHOD: Record<Language, string> = {
  en: 'No payment method is saved.',
  zh: '没有已保存的支付方式。',
  ja: '支払い方法が保存されていません。',
  ko: '저장된 결제 수단이 없습니다.',
}

function textOf({ hello, subject, happened, follows, labels, here }: Words): NoticeText<Values> {
  return {
    subject: values => subject[values.news](values),
    body: values => {
      const { news } = values
      const rows: [string, string][] = [
        [labels.amount, values.amount],
        // A cap that is reached concerns no card and no refusal.
        [labels.cap, news === 'capped' ? values.cap : ''],
        [labels.card, news === 'capped' ? '' : values.paidWith],
        [labels.reason, news === 'capped' ? '' : values.reason],
        [labels.time, values.at],
      ]
      const said = rows.filter(([, value]) => value !== '')
      return [
        hello,
        happened[news](values),
        said.map(([label, value]) => `${label}${labels.colon}${value}`).join('\n'),
        follows[news](values),
        values.link,
        here,
      ]
    },
  }
}

/** The mail about auto top-up that was refused, was turned off, or waits for the next month (R3.9). */
export const AUTO_TOP_UP_TEXTS: NoticeTexts<Values> = {
  en: textOf(WORDS.en),
  zh: textOf(WORDS.zh),
  ja: textOf(WORDS.ja),
  ko: textOf(WORDS.ko),
}
