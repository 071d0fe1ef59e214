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
  /** The instance that it is for; empty: the account. */
  name: string
}

/** What follows when all of it is spent: of one that stops, and of one that only warns. */
const USED_UP: Record<Language, { stops: string; warns: string }> = {
  en: {
    stops:
      'You asked for a stop at 100 %: the on-demand instances that it covers are stopped, and are not started before the budget is raised, removed or begins anew. Terms that are paid in advance run on, and disks and volumes go on costing their fee. Nothing is deleted.',
    warns: 'It only warns: what runs goes on running.',
  },
  zh: {
    stops:
      '您要求在达到 100 % 时停止：该预算涵盖的按需实例会被停止，在提高、移除预算或预算重新开始之前无法启动。预付的期限会继续运行，磁盘和卷仍继续计费。不会删除任何数据。',
    warns: '该预算仅提醒：正在运行的会继续运行。',
  },
  ja: {
    stops:
      '100 % での停止が設定されています。対象のオンデマンドのインスタンスは停止し、予算を引き上げるか削除するか、次の期間が始まるまで起動できません。前払いの期間はそのまま続き、ディスクとボリュームの料金は引き続きかかります。何も削除されません。',
    warns: 'この予算はお知らせのみです。実行中のものはそのまま動き続けます。',
  },
  ko: {
    stops:
      '100 %에서 중지하도록 설정하셨습니다. 예산이 적용되는 온디맨드 인스턴스는 중지되며, 예산을 올리거나 제거하거나 새로 시작될 때까지 시작할 수 없습니다. 선불 기간은 계속되고 디스크와 볼륨 요금은 계속 부과됩니다. 삭제되는 것은 없습니다.',
    warns: '이 예산은 알림만 보냅니다. 실행 중인 것은 계속 실행됩니다.',
  },
}

/** What follows while some of it is left: of one that stops, and of one that only warns. */
const AHEAD: Record<Language, { stops: string; warns: string }> = {
  en: { stops: 'At 100 % the on-demand instances that it covers are stopped.', warns: USED_UP.en.warns },
  zh: { stops: '达到 100 % 时，该预算涵盖的按需实例会被停止。', warns: USED_UP.zh.warns },
  ja: { stops: '100 % に達すると、対象のオンデマンドのインスタンスは停止します。', warns: USED_UP.ja.warns },
  ko: { stops: '100 %에 도달하면 예산이 적용되는 온디맨드 인스턴스가 중지됩니다.', warns: USED_UP.ko.warns },
}

function meaning(language: Language, { share, stops }: Pick<Values, 'share' | 'stops'>): string {
  return (share === 100 ? USED_UP : AHEAD)[language][stops ? 'stops' : 'warns']
}

/** The mail about a share of a budget that is spent (B16). */
export const BUDGET_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${share} % of the ${period === 'day' ? 'daily' : 'monthly'} budget of ${name === '' ? 'your account' : name} is spent`,
    body: ({ period, amount, spent, until, name, link, ...rest }) => [
      'Hello,',
      `This is about the ${period === 'day' ? 'daily' : 'monthly'} budget of ${name === '' ? 'your account' : `your instance “${name}”`}: ${spent} of ${amount} is spent. It begins anew on ${until}.`,
      meaning('en', rest),
      'Your budgets are here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, share, period, name }) =>
      `${brand}：${name === '' ? '账户' : name} 的${period === 'day' ? '每日' : '每月'}预算已使用 ${share} %`,
    body: ({ period, amount, spent, until, name, link, ...rest }) => [
      '您好！',
      `此邮件与${name === '' ? '您账户' : `您的实例“${name}”`}的${period === 'day' ? '每日' : '每月'}预算有关：${amount} 中已花费 ${spent}。预算将于 ${until} 重新开始。`,
      meaning('zh', rest),
      '您的预算请见：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${name === '' ? 'アカウント' : name} の ${period === 'day' ? '1 日' : '1 か月'}の予算を ${share} % 使いました`,
    body: ({ period, amount, spent, until, name, link, ...rest }) => [
      'こんにちは。',
      `${name === '' ? 'アカウント' : `インスタンス「${name}」`}の ${period === 'day' ? '1 日' : '1 か月'}の予算についてのお知らせです: ${amount} のうち ${spent} を使いました。予算は ${until} に新しく始まります。`,
      meaning('ja', rest),
      '予算はこちらでご覧いただけます。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, share, period, name }) =>
      `${brand}: ${name === '' ? '계정' : name} ${period === 'day' ? '일일' : '월간'} 예산의 ${share} % 사용`,
    body: ({ period, amount, spent, until, name, link, ...rest }) => [
      '안녕하세요.',
      `${name === '' ? '계정' : `인스턴스 “${name}”`}의 ${period === 'day' ? '일일' : '월간'} 예산에 관한 안내입니다: ${amount} 중 ${spent} 사용. 예산은 ${until}에 새로 시작됩니다.`,
      meaning('ko', rest),
      '예산은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}
