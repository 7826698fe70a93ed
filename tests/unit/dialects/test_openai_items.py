"""Which Responses items may stand without which: stored, filtered and cut histories are accepted (W-O1, W-O2)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.dialects.openai_items import (
    as_stored,
    is_written_by_model,
    longest_legal,
    mend,
    type_of,
)
from support.strict import WireRequest
from support.strict.responses import check

Item = dict[str, Any]


def reasoning(n: int = 1, **more: Any) -> Item:
    return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"payload {n}", **more}


def call(n: int = 1, **more: Any) -> Item:
    return {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "add", "arguments": "{}", **more}


def output(n: int = 1) -> Item:
    return {"type": "function_call_output", "call_id": f"call_{n}", "output": "3"}


def said(n: int = 1, **more: Any) -> Item:
    content = [{"type": "output_text", "text": "hi", "annotations": []}]
    return {"type": "message", "id": f"msg_{n}", "role": "assistant", "content": content, **more}


def user(text: str = "q") -> Item:
    return {"role": "user", "content": text}


def without_id(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != "id"}


def refused(items: list[Item]) -> list[str]:
    """The rules that these items break, signatures aside."""
    request = WireRequest("responses", {"model": "gpt-6-luna", "input": items, "store": False}, "gpt-6-luna")
    return [found.rule for found in check(request) if found.status is not None]


def test_an_answer_with_its_reasoning_is_stored_as_it_came() -> None:
    answer = [reasoning(), call(1, status="completed"), call(2, status="completed")]
    assert as_stored(answer, keeps_payloads=True) == answer


def test_an_id_is_kept_only_together_with_its_reasoning_item() -> None:
    """W-O2 (decision 27): what came without reasoning, or before it, loses its id."""
    assert as_stored([call()], keeps_payloads=True) == [without_id(call())]
    comment = said(1, phase="commentary")
    assert as_stored([comment, reasoning(), call()], keeps_payloads=True) == [without_id(comment), reasoning(), call()]


def test_reasoning_without_a_follower_is_not_stored() -> None:
    assert as_stored([said(), reasoning()], keeps_payloads=True) == [without_id(said())]
    assert as_stored([reasoning()], keeps_payloads=True) == []


def test_reasoning_without_a_payload_is_not_stored_where_the_server_keeps_nothing() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}
    assert as_stored([bare, said()], keeps_payloads=True) == [without_id(said())]


def test_B09_without_payloads_the_items_carry_their_ids() -> None:
    assert as_stored([reasoning(), said()], keeps_payloads=False) == [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        said(),
    ]


def test_empty_and_output_only_fields_go() -> None:
    part = {"type": "output_text", "text": "hi", "annotations": [], "logprobs": None}
    item = said(1, status="completed", phase=None, created_by="x", content=[part])
    [stored] = as_stored([item], keeps_payloads=True)
    assert stored == {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}],
    }
    assert item["content"][0] is part


def test_a_call_keeps_what_it_came_with() -> None:
    item = call(1, **{"async": True, "namespace": "n", "caller": None})
    assert as_stored([reasoning(), item], keeps_payloads=True)[1] == call(1, **{"async": True, "namespace": "n"})


def test_items_of_unknown_types_are_stored_as_they_came() -> None:
    item = {"type": "thought_stream", "id": "ts_1", "payload": None}
    assert as_stored([reasoning(), item, said()], keeps_payloads=True)[1] == item
    search = {"type": "web_search_call", "id": "ws_1", "action": None}
    assert as_stored([search, said()], keeps_payloads=True)[0] == search


def test_what_lost_its_reasoning_loses_its_id() -> None:
    """W-O2, W-O1 (decision 19): only what was minted with the reasoning that went; everything else is untouched."""
    before = [user(), reasoning(1), call(1), call(2), output(1), output(2), reasoning(2), said(2), user(), said(3)]
    after = mend(before, [item for item in before if item is not before[1]])
    assert after == [
        before[0],
        without_id(call(1)),
        without_id(call(2)),
        *before[4:],
    ]
    assert after[3] is before[4]
    assert after[-1] is before[-1]
    assert not refused(after)


def test_what_openai_ran_itself_goes_with_its_reasoning() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    before = [user(), reasoning(), search, said()]
    assert mend(before, [before[0], *before[2:]]) == [before[0], without_id(said())]


def test_a_filter_that_leaves_reasoning_alone_changes_nothing() -> None:
    before = [user(), reasoning(), call(), output(), said()]
    after = mend(before, before)
    assert all(new is old for new, old in zip(after, before, strict=True))


def test_a_cut_does_not_end_behind_reasoning() -> None:
    """W-O1 (decision 23): a trailing reasoning item without its follower goes too."""
    items = [user(), reasoning(1), reasoning(2), said()]
    assert [longest_legal(items, count) for count in (0, 1, 2, 3, 4, 9)] == [0, 1, 1, 1, 4, 4]


ANSWERS = st.lists(st.sampled_from(["reasoning", "bare", "call", "said", "search"]), min_size=1, max_size=5)


def history_of(turns: list[list[str]]) -> list[Item]:
    """A history as it is stored: each answer behind a question, its calls answered."""
    made: list[Item] = []
    number = 0
    for kinds in turns:
        answer: list[Item] = []
        for kind in kinds:
            number += 1
            answer.append(
                {
                    "reasoning": reasoning(number),
                    "bare": {"type": "reasoning", "id": f"rs_{number}", "summary": []},
                    "call": call(number),
                    "said": said(number),
                    "search": {"type": "web_search_call", "id": f"ws_{number}", "status": "completed"},
                }[kind]
            )
        stored = as_stored(answer, keeps_payloads=True)
        results = [output(int(item["call_id"][5:])) for item in stored if type_of(item) == "function_call"]
        made += [user(), *stored, *results]
    return made


@given(st.lists(ANSWERS, max_size=5))
def test_what_is_stored_is_accepted_when_sent_again(turns: list[list[str]]) -> None:
    assert refused([*history_of(turns), user()]) == []


@given(st.lists(ANSWERS, max_size=5), st.data())
def test_whatever_reasoning_goes_the_rest_is_accepted(turns: list[list[str]], data: st.DataObject) -> None:
    before = history_of(turns)
    places = [at for at, item in enumerate(before) if type_of(item) == "reasoning"]
    gone = data.draw(st.sets(st.sampled_from(places))) if places else set()
    after = mend(before, [item for at, item in enumerate(before) if at not in gone])
    assert refused([*after, user()]) == []
    # An id that is left stands behind a reasoning item of its own answer.
    for at, item in enumerate(after):
        if item.get("id") is not None and type_of(item) in ("function_call", "message"):
            answer = []
            for earlier in reversed(after[:at]):
                if not is_written_by_model(earlier):
                    break
                answer.append(type_of(earlier))
            assert "reasoning" in answer
