-- Requests one target, with a pause before each request. Arguments: target, mean pause in
-- milliseconds (half of it to one and a half), and for random targets their number and a seed; the
-- target is their prefix then.
local pause, target, count = 0, "", nil
function init(arguments)
    target, pause, count = arguments[1], tonumber(arguments[2]), tonumber(arguments[3])
    if count then math.randomseed(tonumber(arguments[4])) end
end
function request()
    return wrk.format(nil, count and target .. math.random(0, count - 1) or target)
end
function delay()
    return math.random(math.floor(pause / 2), math.ceil(pause * 1.5))
end
