import type { Language } from '@berth/contract/limits'
import type { VolumeFacts } from '../facts.ts'
import { type NoticeTexts, quoted } from './notice-mail.ts'

interface Values {
  at: string
  news: VolumeFacts['news']
  name: string
  /** The engine's own words; empty where there are none. */
  detail: string
  /** When it is deleted, or read-only for being over its size; empty where neither is to come. */
  until: string
}

type Said = Record<VolumeFacts['news'], { subject: string; meaning: (until: string) => string }>

/** What happened, and what becomes of the volume. */
const NEWS: Record<Language, Said> = {
  en: {
    unpaid: {
      subject: 'is not paid for',
      meaning: until =>
        `The balance is used up, so nobody pays for this volume. Nothing is deleted now: it is kept, and instances that start have it read-only. Unless you top up, it is deleted with all that is in it on ${until}; while an instance has it, when that instance is gone.`,
    },
    unpaid_soon: {
      subject: 'will be deleted soon',
      meaning: until =>
        `The balance is still used up. Unless you top up, this volume is deleted with all that is in it on ${until}; while an instance has it, when that instance is gone.`,
    },
    deleted_unpaid: {
      subject: 'was deleted',
      meaning: () => 'It was not paid for until its date came, and was deleted with all that was in it.',
    },
    make_failed: {
      subject: 'could not be made',
      meaning: () => 'It costs nothing. Delete it and create another one.',
    },
    grow_failed: {
      subject: 'could not grow',
      meaning: () => 'It has the size and the price that it had before, and all that is in it.',
    },
    missing: {
      subject: 'cannot be found',
      meaning: () =>
        'What keeps it does not have it any more. It costs nothing from when it was last seen. If it is found again, you see it on its page.',
    },
    near_full: {
      subject: 'is nearly full',
      meaning: () =>
        'More than 90 % of its size is used. When it is full, programs that write to it fail, or it becomes read-only. Delete what you no longer need, or make it larger on its page.',
    },
    over_size: {
      subject: 'holds more than its size',
      meaning: until =>
        `It holds more than the size that you pay for. Nothing is deleted. Delete what you no longer need, or make it larger on its page; else instances that start have it read-only from ${until} on.`,
    },
    over_read_only: {
      subject: 'is read-only now',
      meaning: () =>
        'It has held more than its size for a day, so instances that start have it read-only. Nothing is deleted. Make it larger on its page: instances that start then can write to it again.',
    },
    snapshot_failed: {
      subject: 'has a snapshot that failed',
      meaning: () =>
        'A snapshot that its schedule asked for could not be copied, after several tries. It cost nothing, and snapshots from before are kept. Look on its page whether the volume holds far more than its size, and take one by hand; if that fails as well, write to support. You get no further mail about this until a snapshot has worked again.',
    },
    snapshot_unpaid: {
      subject: 'has no new snapshots',
      meaning: () =>
        'When it was time for its snapshot, the balance did not pay for a day of it. Snapshots from before are kept. Top up, and the next one is taken when it is time; or keep fewer of them. You get no further mail about this until a snapshot has worked again.',
    },
    snapshot_no_volume: {
      subject: 'has no new snapshots',
      meaning: () =>
        'When it was time for its snapshot, the volume could not be reached. Snapshots from before are kept, and the next one is tried when it is time. If its page still says so tomorrow, make a new volume of the last snapshot, or write to support. You get no further mail about this until a snapshot has worked again.',
    },
    snapshot_busy: {
      subject: 'takes too long to copy',
      meaning: () =>
        'When it was time for its snapshot, the one before was still being copied, so none was taken. Have them taken less often on its page, or move what need not be kept to another volume. You get no further mail about this until snapshots are in time again.',
    },
  },
  zh: {
    unpaid: {
      subject: '已欠费',
      meaning: until =>
        `余额已用完，该网络卷无人付费。目前不会删除任何内容：网络卷会保留，之后启动的实例只能读取它。若不充值，它及其全部内容将于 ${until} 删除；如有实例挂载它，则在该实例销毁后删除。`,
    },
    unpaid_soon: {
      subject: '即将删除',
      meaning: until =>
        `余额仍为零。若不充值，该网络卷及其全部内容将于 ${until} 删除；如有实例挂载它，则在该实例销毁后删除。`,
    },
    deleted_unpaid: { subject: '已删除', meaning: () => '到期前未付费，该网络卷及其全部内容已删除。' },
    make_failed: { subject: '无法创建', meaning: () => '不会产生费用。请删除后重新创建。' },
    grow_failed: { subject: '无法扩容', meaning: () => '容量、价格及全部内容均与之前相同。' },
    missing: {
      subject: '无法找到',
      meaning: () =>
        '保存它的引擎中已没有该网络卷。自最后一次看到它起不再计费。若重新找到，会显示在其页面上。',
    },
    near_full: {
      subject: '即将写满',
      meaning: () =>
        '已使用其容量的 90% 以上。写满后，向其写入的程序会失败，或它会变为只读。请删除不再需要的内容，或在其页面上扩容。',
    },
    over_size: {
      subject: '超出其容量',
      meaning: until =>
        `其中的内容超出了您付费的容量。不会删除任何内容。请删除不再需要的内容，或在其页面上扩容；否则自 ${until} 起启动的实例只能读取它。`,
    },
    over_read_only: {
      subject: '现为只读',
      meaning: () =>
        '其中的内容超出容量已满一天，因此之后启动的实例只能读取它。不会删除任何内容。请在其页面上扩容：之后启动的实例即可再次写入。',
    },
    snapshot_failed: {
      subject: '的快照失败',
      meaning: () =>
        '计划中的快照多次尝试后仍无法复制。不会产生费用，之前的快照会保留。请在其页面上查看内容是否远超其容量，并手动创建一个快照；若仍失败，请联系支持。在快照恢复正常之前，不会再就此发送邮件。',
    },
    snapshot_unpaid: {
      subject: '没有新的快照',
      meaning: () =>
        '到了创建快照的时间，余额不足以支付一天的费用。之前的快照会保留。充值后会在下一个时间点创建；您也可以减少保留的数量。在快照恢复正常之前，不会再就此发送邮件。',
    },
    snapshot_no_volume: {
      subject: '没有新的快照',
      meaning: () =>
        '到了创建快照的时间，无法访问该网络卷。之前的快照会保留，并会在下一个时间点再次尝试。若明天其页面仍如此显示，请用最后一个快照创建新的网络卷，或联系支持。在快照恢复正常之前，不会再就此发送邮件。',
    },
    snapshot_busy: {
      subject: '复制耗时过长',
      meaning: () =>
        '到了创建快照的时间，上一个快照仍在复制，因此没有创建。请在其页面上降低频率，或将无需保留的内容移到其他网络卷。在快照恢复按时创建之前，不会再就此发送邮件。',
    },
  },
  ja: {
    unpaid: {
      subject: 'の料金が支払われていません',
      meaning: until =>
        `残高がなくなり、このボリュームの料金が支払われていません。今は何も削除されません。ボリュームは保持され、これから起動するインスタンスでは読み取り専用になります。チャージがない場合、${until} に内容ごと削除されます。インスタンスが使用している間は、そのインスタンスがなくなったときに削除されます。`,
    },
    unpaid_soon: {
      subject: 'はまもなく削除されます',
      meaning: until =>
        `残高はまだありません。チャージがない場合、このボリュームは ${until} に内容ごと削除されます。インスタンスが使用している間は、そのインスタンスがなくなったときに削除されます。`,
    },
    deleted_unpaid: {
      subject: 'を削除しました',
      meaning: () => '期日までに支払いがなかったため、内容ごと削除しました。',
    },
    make_failed: {
      subject: 'を作成できませんでした',
      meaning: () => '料金はかかりません。削除してから、もう一度作成してください。',
    },
    grow_failed: {
      subject: 'を拡張できませんでした',
      meaning: () => 'サイズ、料金、内容は以前のままです。',
    },
    missing: {
      subject: 'が見つかりません',
      meaning: () =>
        '保存先のエンジンにこのボリュームがありません。最後に確認できた時点から料金はかかりません。再び見つかれば、そのページに表示されます。',
    },
    near_full: {
      subject: 'の空きが残りわずかです',
      meaning: () =>
        'サイズの 90% 以上が使われています。いっぱいになると、書き込むプログラムが失敗するか、読み取り専用になります。不要なものを削除するか、そのページで拡張してください。',
    },
    over_size: {
      subject: 'がサイズを超えています',
      meaning: until =>
        `料金の対象となるサイズを超える内容が保存されています。何も削除されません。不要なものを削除するか、そのページで拡張してください。そうでない場合、${until} 以降に起動するインスタンスでは読み取り専用になります。`,
    },
    over_read_only: {
      subject: 'は読み取り専用になりました',
      meaning: () =>
        '1 日にわたりサイズを超えていたため、これから起動するインスタンスでは読み取り専用になります。何も削除されません。そのページで拡張すると、その後に起動するインスタンスから再び書き込めます。',
    },
    snapshot_failed: {
      subject: 'のスナップショットに失敗しました',
      meaning: () =>
        'スケジュールによるスナップショットを何度か試しましたが、コピーできませんでした。料金はかからず、以前のスナップショットは保持されます。内容がサイズを大きく超えていないかをそのページで確認し、手動で取得してみてください。それも失敗する場合は、サポートにご連絡ください。再び成功するまで、この件についてのメールは送りません。',
    },
    snapshot_unpaid: {
      subject: 'の新しいスナップショットがありません',
      meaning: () =>
        'スナップショットの時刻に、1 日分の料金に残高が足りませんでした。以前のスナップショットは保持されます。チャージすると、次の時刻に取得されます。保持する数を減らすこともできます。再び成功するまで、この件についてのメールは送りません。',
    },
    snapshot_no_volume: {
      subject: 'の新しいスナップショットがありません',
      meaning: () =>
        'スナップショットの時刻に、ボリュームに接続できませんでした。以前のスナップショットは保持され、次の時刻にもう一度試します。明日になってもそのページに同じ表示がある場合は、最後のスナップショットから新しいボリュームを作成するか、サポートにご連絡ください。再び成功するまで、この件についてのメールは送りません。',
    },
    snapshot_busy: {
      subject: 'のコピーに時間がかかりすぎています',
      meaning: () =>
        'スナップショットの時刻に前回のコピーがまだ続いていたため、取得しませんでした。そのページで間隔を長くするか、保持する必要のないものを別のボリュームに移してください。再び時刻どおりに取得できるまで、この件についてのメールは送りません。',
    },
  },
  ko: {
    unpaid: {
      subject: '요금 미납',
      meaning: until =>
        `잔액이 모두 사용되어 이 볼륨의 요금이 지불되지 않습니다. 지금은 아무것도 삭제하지 않습니다. 볼륨은 유지되며 앞으로 시작하는 인스턴스에서는 읽기만 할 수 있습니다. 충전하지 않으면 ${until}에 모든 내용과 함께 삭제됩니다. 인스턴스가 사용하는 동안에는 그 인스턴스가 없어질 때 삭제됩니다.`,
    },
    unpaid_soon: {
      subject: '곧 삭제됨',
      meaning: until =>
        `아직 잔액이 없습니다. 충전하지 않으면 이 볼륨은 ${until}에 모든 내용과 함께 삭제됩니다. 인스턴스가 사용하는 동안에는 그 인스턴스가 없어질 때 삭제됩니다.`,
    },
    deleted_unpaid: {
      subject: '삭제됨',
      meaning: () => '기한까지 요금이 지불되지 않아 모든 내용과 함께 삭제했습니다.',
    },
    make_failed: {
      subject: '만들지 못함',
      meaning: () => '요금은 부과되지 않습니다. 삭제한 뒤 다시 만들어 주세요.',
    },
    grow_failed: {
      subject: '늘리지 못함',
      meaning: () => '크기와 요금, 모든 내용은 이전과 같습니다.',
    },
    missing: {
      subject: '찾을 수 없음',
      meaning: () =>
        '볼륨을 보관하던 엔진에 더 이상 없습니다. 마지막으로 확인된 때부터 요금이 부과되지 않습니다. 다시 발견되면 해당 페이지에 표시됩니다.',
    },
    near_full: {
      subject: '거의 가득 참',
      meaning: () =>
        '크기의 90% 이상을 사용하고 있습니다. 가득 차면 볼륨에 쓰는 프로그램이 실패하거나 볼륨이 읽기 전용이 됩니다. 필요 없는 것을 삭제하거나 해당 페이지에서 늘려 주세요.',
    },
    over_size: {
      subject: '크기를 초과함',
      meaning: until =>
        `요금을 지불하는 크기보다 많은 내용이 들어 있습니다. 아무것도 삭제하지 않습니다. 필요 없는 것을 삭제하거나 해당 페이지에서 늘려 주세요. 그러지 않으면 ${until}부터 시작하는 인스턴스에서는 읽기만 할 수 있습니다.`,
    },
    over_read_only: {
      subject: '이제 읽기 전용임',
      meaning: () =>
        '하루 동안 크기를 초과했으므로 앞으로 시작하는 인스턴스에서는 읽기만 할 수 있습니다. 아무것도 삭제하지 않습니다. 해당 페이지에서 늘리면 그 뒤에 시작하는 인스턴스부터 다시 쓸 수 있습니다.',
    },
    snapshot_failed: {
      subject: '스냅샷 실패',
      meaning: () =>
        '예약된 스냅샷을 여러 번 시도했지만 복사하지 못했습니다. 요금은 부과되지 않으며 이전 스냅샷은 유지됩니다. 내용이 크기를 크게 초과하지 않는지 해당 페이지에서 확인하고 직접 스냅샷을 만들어 보세요. 그것도 실패하면 고객 지원에 문의해 주세요. 스냅샷이 다시 성공할 때까지 이에 관한 메일을 더 보내지 않습니다.',
    },
    snapshot_unpaid: {
      subject: '새 스냅샷 없음',
      meaning: () =>
        '스냅샷을 만들 시간에 하루치 요금을 낼 잔액이 없었습니다. 이전 스냅샷은 유지됩니다. 충전하면 다음 시간에 만들어집니다. 보관 개수를 줄일 수도 있습니다. 스냅샷이 다시 성공할 때까지 이에 관한 메일을 더 보내지 않습니다.',
    },
    snapshot_no_volume: {
      subject: '새 스냅샷 없음',
      meaning: () =>
        '스냅샷을 만들 시간에 볼륨에 연결할 수 없었습니다. 이전 스냅샷은 유지되며 다음 시간에 다시 시도합니다. 내일도 해당 페이지에 같은 내용이 표시되면 마지막 스냅샷으로 새 볼륨을 만들거나 고객 지원에 문의해 주세요. 스냅샷이 다시 성공할 때까지 이에 관한 메일을 더 보내지 않습니다.',
    },
    snapshot_busy: {
      subject: '복사가 너무 오래 걸림',
      meaning: () =>
        '스냅샷을 만들 시간에 이전 스냅샷이 아직 복사 중이어서 만들지 않았습니다. 해당 페이지에서 간격을 늘리거나 보관할 필요가 없는 것을 다른 볼륨으로 옮겨 주세요. 스냅샷이 다시 제시간에 만들어질 때까지 이에 관한 메일을 더 보내지 않습니다.',
    },
  },
}

/** The mail about a network volume that is not paid for (B4), or that is not as its customer asked. */
export const VOLUME_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, news, name }) => `${brand}: network volume ${name} ${NEWS.en[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      'Hello,',
      `This is about your network volume “${name}” (${at}).`,
      ...quoted(detail),
      NEWS.en[news].meaning(until),
      link,
    ],
  },
  zh: {
    subject: ({ brand, news, name }) => `${brand}：网络卷 ${name} ${NEWS.zh[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      '您好！',
      `此邮件与您的网络卷“${name}”有关（${at}）。`,
      ...quoted(detail),
      NEWS.zh[news].meaning(until),
      link,
    ],
  },
  ja: {
    subject: ({ brand, news, name }) => `${brand}: ネットワークボリューム ${name} ${NEWS.ja[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      'こんにちは。',
      `ネットワークボリューム「${name}」についてのお知らせです（${at}）。`,
      ...quoted(detail),
      NEWS.ja[news].meaning(until),
      link,
    ],
  },
  ko: {
    subject: ({ brand, news, name }) => `${brand}: 네트워크 볼륨 ${name} ${NEWS.ko[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      '안녕하세요.',
      `네트워크 볼륨 “${name}”에 관한 안내입니다 (${at}).`,
      ...quoted(detail),
      NEWS.ko[news].meaning(until),
      link,
    ],
  },
}
