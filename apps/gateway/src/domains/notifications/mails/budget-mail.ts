import type { BudgetPeriod, BudgetShare } from '@berth/contract/budgets'
import type { Language } from '@berth/contract/limits'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  share: BudgetShare
  period: BudgetPeriod
  /** With their currency's sign. */
  amount: string
  spent: string
  /** When it begins anew. */
  until: string
  stops: boolean
  /** What it is for. */
  of: 'account' | 'instance' | 'key'
  /** What that is called; empty of the account. */
  name: string
}

/** What follows: of one that stops instances or an API key's calls, and of one that only warns. */
type Following = Record<'stops' | 'refuses' | 'warns', string>

/** What follows when all of it is spent, or of a key when a call was refused that may cost more than what is left. */
const USED_UP: Record<Language, Following> = {
  en: {
    stops:
      'You asked for a stop at 100 %: the on-demand instances that it covers are stopped, and are not started before the budget is raised, removed or begins anew. Terms that are paid in advance run on, and disks and volumes go on costing their fee. Nothing is deleted.',
    refuses:
      'You asked for a stop at 100 %: calls with this key that may cost more than what is left are refused before the budget is raised, removed or begins anew. Other keys are not affected.',
    warns: 'It only warns: what runs goes on running.',
  },
  zh: {
    stops:
      '您要求在达到 100 % 时停止：该预算涵盖的按需实例会被停止，在提高、移除预算或预算重新开始之前无法启动。预付的期限会继续运行，磁盘和卷仍继续计费。不会删除任何数据。',
    refuses:
      '您要求在达到 100 % 时停止：在提高、移除预算或预算重新开始之前，使用此密钥且费用可能超过剩余金额的调用会被拒绝。其他密钥不受影响。',
    warns: '该预算仅提醒：正在运行的会继续运行。',
  },
  ja: {
    stops:
      '100 % での停止が設定されています。対象のオンデマンドのインスタンスは停止し、予算を引き上げるか削除するか、次の期間が始まるまで起動できません。前払いの期間はそのまま続き、ディスクとボリュームの料金は引き続きかかります。何も削除されません。',
    refuses:
      '100 % での停止が設定されています。予算を引き上げるか削除するか、次の期間が始まるまで、残額を超える可能性のあるこのキーの呼び出しは拒否されます。他のキーには影響しません。',
    warns: 'この予算はお知らせのみです。実行中のものはそのまま動き続けます。',
  },
  ko: {
    stops:
      '100 %에서 중지하도록 설정하셨습니다. 예산이 적용되는 온디맨드 인스턴스는 중지되며, 예산을 올리거나 제거하거나 새로 시작될 때까지 시작할 수 없습니다. 선불 기간은 계속되고 디스크와 볼륨 요금은 계속 부과됩니다. 삭제되는 것은 없습니다.',
    refuses:
      '100 %에서 중지하도록 설정하셨습니다. 예산을 올리거나 제거하거나 새로 시작될 때까지, 남은 금액을 넘을 수 있는 이 키의 호출은 거절됩니다. 다른 키에는 영향이 없습니다.',
    warns: '이 예산은 알림만 보냅니다. 실행 중인 것은 계속 실행됩니다.',
  },
}

/** What follows while some of it is left. */
const AHEAD: Record<Language, Following> = {
  en: {
    stops: 'At 100 % the on-demand instances that it covers are stopped.',
    refuses: 'Calls with this key that may cost more than what is left are refused.',
    warns: USED_UP.en.warns,
  },
  zh: {
    stops: '达到 100 % 时，该预算涵盖的按需实例会被停止。',
    refuses: '使用此密钥且费用可能超过剩余金额的调用会被拒绝。',
    warns: USED_UP.zh.warns,
  },
  ja: {
    stops: '100 % に達すると、対象のオンデマンドのインスタンスは停止します。',
    refuses: '残額を超える可能性のあるこのキーの呼び出しは拒否されます。',
    warns: USED_UP.ja.warns,
  },
  ko: {
    stops: '100 %에 도달하면 예산이 적용되는 온디맨드 인스턴스가 중지됩니다.',
    refuses: '남은 금액을 넘을 수 있는 이 키의 호출은 거절됩니다.',
    warns: USED_UP.ko.warns,
  },
}

function meaning(language: Language, { share, stops, of }: Pick<Values, 'share' | 'stops' | 'of'>): string {
  const stop = of === 'key' ? 'refuses' : 'stops'
  return (share === 100 ? USED_UP : AHEAD)[language][stops ? stop : 'warns']
}

/** What a budget is for, in a sentence. */
const COVERED: Record<Language, (of: Pick<Values, 'of' | 'name'>) => string> = {
  en: ({ of, name }) =>
    of === 'account' ? 'your account' : `your ${of === 'key' ? 'API key' : 'instance'} “${name}”`,
  zh: ({ of, name }) => (of === 'account' ? '您账户' : `您的${of === 'key' ? ' API 密钥' : '实例'}“${name}”`),
  ja: ({ of, name }) =>
    of === 'account' ? 'アカウント' : `${of === 'key' ? 'API キー' : 'インスタンス'}「${name}」`,
  ko: ({ of, name }) => (of === 'account' ? '계정' : `${of === 'key' ? 'API 키' : '인스턴스'} “${name}”`),
}

/** The mail about a share of a budget that is spent (B16). */
export const BUDGET_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${share} % of the ${period === 'day' ? 'daily' : 'monthly'} budget of ${name === '' ? 'your account' : name} is spent`,
    body: ({ period, amount, spent, until, link, ...rest }) => [
      'Hello,',
      `This is about the ${period === 'day' ? 'daily' : 'monthly'} budget of ${COVERED.en(rest)}: ${spent} of ${amount} is spent. It begins anew on ${until}.`,
      meaning('en', rest),
      'Your budgets are here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, share, period, name }) =>
      `${brand}：${name === '' ? '账户' : name} 的${period === 'day' ? '每日' : '每月'}预算已使用 ${share} %`,
    body: ({ period, amount, spent, until, link, ...rest }) => [
      '您好！',
      `此邮件与${COVERED.zh(rest)}的${period === 'day' ? '每日' : '每月'}预算有关：${amount} 中已花费 ${spent}。预算将于 ${until} 重新开始。`,
      meaning('zh', rest),
      '您的预算请见：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${name === '' ? 'アカウント' : name} の ${period === 'day' ? '1 日' : '1 か月'}の予算を ${share} % 使いました`,
    body: ({ period, amount, spent, until, link, ...rest }) => [
      'こんにちは。',
      `${COVERED.ja(rest)}の ${period === 'day' ? '1 日' : '1 か月'}の予算についてのお知らせです: ${amount} のうち ${spent} を使いました。予算は ${until} に新しく始まります。`,
      meaning('ja', rest),
      '予算はこちらでご覧いただけます。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${name === '' ? '계정' : name} ${period === 'day' ? '일일' : '월간'} 예산의 ${share} % 사용`,
    body: ({ period, amount, spent, until, link, ...rest }) => [
      '안녕하세요.',
      `${COVERED.ko(rest)}의 ${period === 'day' ? '일일' : '월간'} 예산에 관한 안내입니다: ${amount} 중 ${spent} 사용. 예산은 ${until}에 새로 시작됩니다.`,
      meaning('ko', rest),
      '예산은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}
