import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  /** With its currency's sign. */
  amount: string
  /** As `cardText` says it. */
  paidWith: string
  /** The transaction's, as the list shows it. */
  number: string
  /** Instances that stopped for an empty balance, parted by commas: those that start by themselves, and the others. */
  resuming: string
  stopped: string
}

/** The paragraphs that are something to say. */
const those = (...paragraphs: (string | false)[]) => paragraphs.filter(paragraph => paragraph !== false)

/** The mail about a top-up that was paid. */
export const TOP_UP_RECEIPT_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, amount }) => `Your ${brand} top-up of ${amount}`,
    body: ({ brand, amount, paidWith, at, number, resuming, stopped, link }) => [
      'Hello,',
      `${amount} was paid and added to the balance of your ${brand} account.`,
      [`Amount: ${amount}`, `Paid with: ${paidWith}`, `Time: ${at}`, `Transaction: ${number}`].join('\n'),
      ...those(
        resuming !== '' &&
          `These stopped because the balance was used up, and start again by themselves as far as it covers them: ${resuming}`,
      ),
      ...those(
        stopped !== '' &&
          `These stopped because the balance was used up, and can be started again: ${stopped}`,
      ),
      'All transactions with their receipts are listed here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, amount }) => `您的 ${brand} 充值 ${amount}`,
    body: ({ brand, amount, paidWith, at, number, resuming, stopped, link }) => [
      '您好！',
      `已支付 ${amount}，并已计入您的 ${brand} 账户余额。`,
      [`金额：${amount}`, `支付方式：${paidWith}`, `时间：${at}`, `交易编号：${number}`].join('\n'),
      ...those(resuming !== '' && `以下实例因余额用尽而停止，将在余额足够时自动重新启动：${resuming}`),
      ...those(stopped !== '' && `以下实例因余额用尽而停止，现在可以重新启动：${stopped}`),
      '所有交易及收据请见：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, amount }) => `${brand} へのチャージ ${amount}`,
    body: ({ brand, amount, paidWith, at, number, resuming, stopped, link }) => [
      'こんにちは。',
      `${amount} のお支払いを確認し、${brand} アカウントの残高に加えました。`,
      [`金額: ${amount}`, `お支払い方法: ${paidWith}`, `日時: ${at}`, `取引番号: ${number}`].join('\n'),
      ...those(
        resuming !== '' &&
          `残高がなくなって停止した次のインスタンスは、残高で足りる範囲で自動的に再び起動します: ${resuming}`,
      ),
      ...those(stopped !== '' && `残高がなくなって停止した次のインスタンスは、再び起動できます: ${stopped}`),
      'すべての取引と領収の明細はこちらでご覧いただけます。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, amount }) => `${brand} 충전 ${amount}`,
    body: ({ brand, amount, paidWith, at, number, resuming, stopped, link }) => [
      '안녕하세요.',
      `${amount}가 결제되어 ${brand} 계정의 잔액에 더해졌습니다.`,
      [`금액: ${amount}`, `결제 수단: ${paidWith}`, `시각: ${at}`, `거래 번호: ${number}`].join('\n'),
      ...those(
        resuming !== '' &&
          `잔액 소진으로 중지된 다음 인스턴스는 잔액이 충분한 만큼 자동으로 다시 시작됩니다: ${resuming}`,
      ),
      ...those(stopped !== '' && `잔액 소진으로 중지된 다음 인스턴스를 다시 시작할 수 있습니다: ${stopped}`),
      '모든 거래와 영수증은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}
