import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  /** With its currency's sign. */
  balance: string
  /** An hour's, with its currency's sign. */
  rate: string
  lasts: string
}

/** The mail about a balance that lasts for no more than one of the chosen hours (B4). */
export const BALANCE_LOW_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, lasts }) => `${brand}: your balance lasts ${lasts}`,
    body: ({ brand, balance, rate, lasts, link }) => [
      'Hello,',
      `The balance of your ${brand} account is ${balance}. What you have now costs ${rate} an hour, so it lasts ${lasts}.`,
      'When it is used up, your instances are stopped; nothing is deleted then. To keep them running, top up here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, lasts }) => `${brand}：您的余额还可使用 ${lasts}`,
    body: ({ brand, balance, rate, lasts, link }) => [
      '您好！',
      `您的 ${brand} 账户余额为 ${balance}。目前每小时费用为 ${rate}，余额还可使用 ${lasts}。`,
      '余额用尽后，您的实例将被停止，届时不会删除任何数据。如需继续运行，请在此充值：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, lasts }) => `${brand}: 残高はあと ${lasts} でなくなります`,
    body: ({ brand, balance, rate, lasts, link }) => [
      'こんにちは。',
      `${brand} アカウントの残高は ${balance} です。現在の料金は 1 時間あたり ${rate} のため、あと ${lasts} でなくなります。`,
      '残高がなくなるとインスタンスは停止しますが、その時点では何も削除されません。動かし続けるには、こちらでチャージしてください。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, lasts }) => `${brand}: 잔액으로 ${lasts} 더 사용할 수 있습니다`,
    body: ({ brand, balance, rate, lasts, link }) => [
      '안녕하세요.',
      `${brand} 계정의 잔액은 ${balance}입니다. 현재 시간당 요금은 ${rate}이며, 앞으로 ${lasts} 동안 사용할 수 있습니다.`,
      '잔액이 소진되면 인스턴스가 중지되지만, 그때 삭제되는 것은 없습니다. 계속 실행하려면 여기에서 충전해 주세요.',
      link,
    ],
  },
}
