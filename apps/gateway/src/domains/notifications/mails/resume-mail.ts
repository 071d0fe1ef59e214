import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  /** The instance's. */
  name: string
  news: 'failed' | 'given_up'
  /** Why, as a sentence. */
  reason: string
  /** When it is tried again; empty where it is not. */
  next: string
}

/** The mail about an instance that was to start again after a top-up, and could not (B4). */
export const RESUME_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, name, news }) =>
      news === 'failed'
        ? `${brand}: ${name} could not be started again yet`
        : `${brand}: ${name} was not started again`,
    body: ({ name, news, reason, next, link }) => [
      'Hello,',
      `Your instance “${name}” stopped because the balance was used up. It was to start again by itself, and could not: ${reason}`,
      news === 'failed'
        ? `It is tried again on ${next}, and some times after that. Nothing is charged for it until it runs.`
        : 'It was tried several times and is not tried any more. You can start it yourself, on another machine if you wish:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, name, news }) =>
      news === 'failed' ? `${brand}：${name} 暂时无法重新启动` : `${brand}：${name} 未能重新启动`,
    body: ({ name, news, reason, next, link }) => [
      '您好！',
      `您的实例“${name}”因余额用尽而停止，本应自动重新启动，但未能成功：${reason}`,
      news === 'failed'
        ? `将于 ${next} 再次尝试，之后还会再试几次。在其运行之前不会产生相应费用。`
        : '已多次尝试，不再继续。您可以自行启动，也可以改用其他机器：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, name, news }) =>
      news === 'failed'
        ? `${brand}: ${name} をまだ再開できません`
        : `${brand}: ${name} は再開されませんでした`,
    body: ({ name, news, reason, next, link }) => [
      'こんにちは。',
      `インスタンス「${name}」は残高がなくなったため停止しました。自動的に再び起動する予定でしたが、できませんでした: ${reason}`,
      news === 'failed'
        ? `${next} に再試行し、その後も数回試みます。実行されるまで、その料金はかかりません。`
        : '何度か試みましたが、これ以上は試みません。ご自身で起動できます。別のマシンを選ぶこともできます。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, name, news }) =>
      news === 'failed'
        ? `${brand}: ${name} 아직 다시 시작하지 못함`
        : `${brand}: ${name} 다시 시작되지 않음`,
    body: ({ name, news, reason, next, link }) => [
      '안녕하세요.',
      `인스턴스 “${name}” 잔액 소진으로 중지된 뒤 자동으로 다시 시작될 예정이었으나 시작하지 못했습니다: ${reason}`,
      news === 'failed'
        ? `${next}에 다시 시도하며, 그 뒤에도 몇 번 더 시도합니다. 실행되기 전에는 해당 요금이 부과되지 않습니다.`
        : '여러 번 시도했으며 더 이상 시도하지 않습니다. 직접 시작하실 수 있으며, 다른 머신을 선택하셔도 됩니다.',
      link,
    ],
  },
}
